"""What `KubeSchedulerConfiguration` says of an extender: fields, defaults and rules are kube-scheduler's."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from component.strict import Seconds
from replica.api.names import label_key_problem

if TYPE_CHECKING:
    from collections.abc import Iterator


class TLSConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How an extender is known, and how we show who we are. What ends in `data` is base64 and goes before the file."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""

    def problems(self) -> Iterator[tuple[str, str]]:
        if bool(self.cert_file or self.cert_data) != bool(self.key_file or self.key_data):
            yield "", "a certificate and its key belong together: give both"
        if self.insecure and (self.ca_file or self.ca_data):
            yield "insecure", "can't be with a CA: whoever is not verified needs none"


class ManagedResource(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An extended resource that the extender sees to."""

    name: str
    ignored_by_scheduler: bool = False


class ExtenderConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One extender. A verb that is "" isn't asked for."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: TLSConfig | None = None
    http_timeout: Seconds = msgspec.field(name="httpTimeout", default=Seconds(5))
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    def problems(self) -> Iterator[tuple[str, str]]:
        url = urlsplit(self.url_prefix)
        if url.scheme not in {"http", "https"} or not url.hostname:
            yield "urlPrefix", f"{self.url_prefix!r} is no http:// or https:// address"
        elif self.enable_https and url.scheme == "http":
            yield "enableHTTPS", "is true, and urlPrefix begins with http://"
        elif self.tls_config is not None and url.scheme == "http":
            yield "tlsConfig", "needs an urlPrefix that begins with https://"
        if self.prioritize_verb and self.weight < 1:
            yield "weight", f"{self.weight} must be 1 or more where there is a prioritizeVerb"
        if self.http_timeout <= 0:
            yield "httpTimeout", "must be above 0"
        seen = set()
        for index, resource in enumerate(self.managed_resources):
            at = f"managedResources[{index}].name"
            if problem := label_key_problem(resource.name):
                yield at, f"{resource.name!r} {problem}"
            elif "/" not in resource.name or resource.name.partition("/")[0].endswith("kubernetes.io"):
                yield at, f"{resource.name!r} is no extended resource: those have a domain of their own before a '/'"
            elif resource.name in seen:
                yield at, f"{resource.name!r} is given twice"
            seen.add(resource.name)


def problems_together(extenders: tuple[ExtenderConfig, ...]) -> Iterator[tuple[str, str]]:
    """What is wrong with several extenders that is wrong with none by itself: a path, and one line."""
    binding = [index for index, each in enumerate(extenders) if each.bind_verb]
    yield from ((f"extenders[{index}].bindVerb", "only one extender may bind") for index in binding[1:])
    seen: dict[str, int] = {}
    for index, each in enumerate(extenders):
        for number, resource in enumerate(each.managed_resources):
            if seen.setdefault(resource.name, index) != index:
                at = f"extenders[{index}].managedResources[{number}].name"
                yield at, f"{resource.name!r} is managed by extenders[{seen[resource.name]}] too"
