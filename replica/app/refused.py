"""kube-scheduler's flags that mean nothing here: each is refused with what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NO_SERVER: Final = "there is no API server: etcd is spoken to directly, give --endpoints"
_NO_REVIEW: Final = "there is no API server that could be asked: give --token-auth-file or --client-ca-file"
_NO_PROFILES: Final = "no profiles are served"
_NO_GATES: Final = "nothing is gated here"
_ALL_METRICS: Final = "every metric is served with all its labels"
_AT_ONCE: Final = "lines are written to stderr at once: there are -v and --logging-format"
_POLICY: Final = "was removed: put plugins and their args into the profiles of --config"
_LOCK: Final = "was removed: use --leader-elect-resource-name and --leader-elect-resource-namespace"
_PORT: Final = "was removed: use --bind-address and --secure-port"
_OWN_SERVER: Final = "the server for health and metrics has no such setting"

REFUSED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("master", "kubeconfig", "kube-api-qps", "kube-api-burst", "kube-api-content-type"), _NO_SERVER),
    **dict.fromkeys(
        (
            "authentication-kubeconfig",
            "authentication-skip-lookup",
            "authentication-token-webhook-cache-ttl",
            "authentication-tolerate-lookup-failure",
            "authorization-kubeconfig",
            "authorization-webhook-cache-authorized-ttl",
            "authorization-webhook-cache-unauthorized-ttl",
            "requestheader-allowed-names",
            "requestheader-client-ca-file",
            "requestheader-extra-headers-prefix",
            "requestheader-group-headers",
            "requestheader-uid-headers",
            "requestheader-username-headers",
        ),
        _NO_REVIEW,
    ),
    **dict.fromkeys(("profiling", "contention-profiling"), _NO_PROFILES),
    **dict.fromkeys(("feature-gates", "emulated-version", "emulation-forward-compatible"), _NO_GATES),
    **dict.fromkeys(
        ("show-hidden-metrics-for-version", "disabled-metrics", "allow-metric-labels", "allow-metric-labels-manifest"),
        _ALL_METRICS,
    ),
    **dict.fromkeys(("vmodule", "log-flush-frequency", "logtostderr", "log-dir", "log-file"), _AT_ONCE),
    "cert-dir": "no certificate is made up: give --tls-cert-file and --tls-private-key-file",
    **dict.fromkeys(
        (
            "disable-http2-serving",
            "http2-max-streams-per-connection",
            "permit-address-sharing",
            "permit-port-sharing",
            "tls-cipher-suites",
            "tls-sni-cert-key",
        ),
        _OWN_SERVER,
    ),
    **dict.fromkeys(("address", "port"), _PORT),
    **dict.fromkeys(
        (
            "algorithm-provider",
            "policy-config-file",
            "policy-configmap",
            "policy-configmap-namespace",
            "use-legacy-policy-config",
        ),
        _POLICY,
    ),
    **dict.fromkeys(("lock-object-name", "lock-object-namespace"), _LOCK),
    "hard-pod-affinity-symmetric-weight": (
        "was removed: it is hardPodAffinityWeight in the args of InterPodAffinity, in the profiles of --config"
    ),
}
"""Flag -> why it is refused, and what to use."""


def _refuse(_: click.Context, flag: click.Parameter, value: str | None) -> None:
    if value is not None:
        name = flag.opts[0].removeprefix("--")
        raise click.UsageError(f"--{name}: {REFUSED[name]}")


REFUSED_FLAGS: Final[tuple[Callable[..., Any], ...]] = tuple(
    click.option(f"--{name}", hidden=True, expose_value=False, is_flag=False, flag_value="", callback=_refuse)
    for name in REFUSED
)
"""Known to the command line, so that whoever gives one learns why not; never shown."""
