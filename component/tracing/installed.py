"""The process's provider: OpenTelemetry allows one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

    from component.tracing.finished import Finished, Over
    from component.tracing.pipeline import Pipeline


class Taker(Protocol):
    """Takes spans that have ended, at once."""

    def take(self, span: Finished) -> None: ...


class Installed:
    """What `setup` has put in; nothing until then.

    Attributes:
        takers: Where spans go that are made without the provider's help.
        pipelines: What carries them on.
        sampler_chosen: Does the environment say how to sample?
        share: The share of roots that the environment's sampler takes, if it goes by their trace ids.
    """

    provider: ClassVar[TracerProvider | None] = None
    takers: ClassVar[tuple[Taker, ...]] = ()
    pipelines: ClassVar[tuple[Pipeline[Over], ...]] = ()
    sampler_chosen: ClassVar[bool] = False
    share: ClassVar[float | None] = None
    lock: ClassVar[threading.Lock] = threading.Lock()
    _tracers: ClassVar[dict[str, Tracer]] = {}

    @classmethod
    def tracer(cls, scope: str, provider: TracerProvider) -> Tracer:
        """Kept, since the SDK takes longer to look one up than to make a span."""
        if scope not in cls._tracers:
            cls._tracers[scope] = provider.get_tracer(scope)
        return cls._tracers[scope]
