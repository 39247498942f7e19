"""Pod groups, disruption budgets and namespaces: what several pods share."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from replica.api.kinds import DISRUPTION_BUDGET, NAMESPACE, POD_GROUP, Kind
from replica.api.objects import Metadata, Object
from replica.api.resources import Amounts, frozen, parse_amounts
from replica.api.selectors import LabelSelector
from replica.api.wire import Reader


class Namespace(Object, frozen=True, gc=False, kw_only=True):
    """A namespace: its labels are what selectors of namespaces look at."""

    KIND: ClassVar[Kind] = NAMESPACE


class PodGroup(Object, frozen=True, gc=False, kw_only=True):
    """A gang: none of its pods is bound until `min_member` of them have a place.

    Attributes:
        timeout: Seconds a pod waits for the others; None: the scheduler's own.
        min_resources: What the group needs together, where it says so.
    """

    KIND: ClassVar[Kind] = POD_GROUP

    min_member: int = 1
    timeout: float | None = None
    min_resources: Amounts = ()


class DisruptionBudget(Object, frozen=True, gc=False, kw_only=True):
    """How many of the pods it selects may be gone at a time.

    Attributes:
        selector: None selects nothing, an empty one all pods of its namespace.
        min_available: A number, or a share such as `"50%"`.
        max_unavailable: The same.
        expected: What `status.expectedPods` says, or None.
    """

    KIND: ClassVar[Kind] = DISRUPTION_BUDGET

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    expected: int | None = None


class _Named(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class _GroupSpec(msgspec.Struct, gc=False, rename="camel"):
    min_member: int = 1
    schedule_timeout_seconds: float | None = None
    min_resources: dict[str, str | int | float] = {}


class _Group(_Named, gc=False):
    spec: _GroupSpec = msgspec.field(default_factory=_GroupSpec)


class _BudgetSpec(msgspec.Struct, gc=False, rename="camel"):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class _BudgetStatus(msgspec.Struct, gc=False, rename="camel"):
    expected_pods: int | None = None


class _Budget(_Named, gc=False):
    spec: _BudgetSpec = msgspec.field(default_factory=_BudgetSpec)
    status: _BudgetStatus = msgspec.field(default_factory=_BudgetStatus)


_NAMED: Final = Reader(_Named)
_GROUP: Final = Reader(_Group)
_BUDGET: Final = Reader(_Budget)


def read_namespace(raw: bytes) -> tuple[Metadata, dict[str, Any]]:
    """A namespace's metadata.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
    """
    return _NAMED.read(raw).metadata, {}


def read_pod_group(raw: bytes) -> tuple[Metadata, dict[str, Any]]:
    """A pod group's metadata and own fields.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
        QuantityError: An amount is no quantity.
    """
    document = _GROUP.read(raw)
    return document.metadata, {
        "min_member": document.spec.min_member,
        "timeout": document.spec.schedule_timeout_seconds,
        "min_resources": frozen(parse_amounts(document.spec.min_resources)),
    }


def read_disruption_budget(raw: bytes) -> tuple[Metadata, dict[str, Any]]:
    """A disruption budget's metadata and own fields.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
    """
    document = _BUDGET.read(raw)
    return document.metadata, {
        "selector": document.spec.selector,
        "min_available": document.spec.min_available,
        "max_unavailable": document.spec.max_unavailable,
        "expected": document.status.expected_pods,
    }
