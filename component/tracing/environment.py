"""What OpenTelemetry's environment variables ask for, as far as the SDK doesn't read them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from component import logs

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORT_TIMEOUT = 1.0
"""Seconds that an export may take unless the environment says otherwise: it is waited for at exit."""

LINGER = 0.5
"""Seconds that spans gather before they go to a collector, unless the environment says otherwise."""

_log = logs.get(__name__)


def disabled(environ: Mapping[str, str]) -> bool:
    """Is the SDK switched off altogether?"""
    return environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def otlp_wanted(signal: str, environ: Mapping[str, str]) -> bool:
    """Is `signal` (`TRACES`, `METRICS`) to go out over OTLP? Only when something says so; only gRPC is spoken."""
    exporters = [name.strip() for name in environ.get(f"OTEL_{signal}_EXPORTER", "").split(",") if name.strip()]
    if disabled(environ) or (exporters and "otlp" not in exporters):
        return False
    if not exporters and not _of(signal, "ENDPOINT", environ):
        return False
    if (protocol := _of(signal, "PROTOCOL", environ)) not in {"", "grpc"}:
        _log.warning("telemetry goes out by grpc only: point it to the collector's grpc port", protocol=protocol)
        return False
    return True


def export_timeout(signal: str, environ: Mapping[str, str]) -> float | None:
    """Seconds for one export; None when the environment has its own, which the exporter reads."""
    return None if _of(signal, "TIMEOUT", environ) else EXPORT_TIMEOUT


def share(environ: Mapping[str, str]) -> float | None:
    """The share of roots that a sampler by trace id takes; None where another one is asked for, or none."""
    if environ.get("OTEL_TRACES_SAMPLER", "").strip().lower() not in {"traceidratio", "parentbased_traceidratio"}:
        return None
    try:
        found = float(environ.get("OTEL_TRACES_SAMPLER_ARG", "") or 1.0)
    except ValueError:
        return None
    return found if 0.0 <= found <= 1.0 else None


def linger(environ: Mapping[str, str]) -> float:
    """Seconds that spans gather before they go to a collector."""
    try:
        return max(float(environ["OTEL_BSP_SCHEDULE_DELAY"]) / 1000, 0.0)
    except (KeyError, ValueError):
        return LINGER


def _of(signal: str, setting: str, environ: Mapping[str, str]) -> str:
    general = environ.get(f"OTEL_EXPORTER_OTLP_{setting}", "")
    return (environ.get(f"OTEL_EXPORTER_OTLP_{signal}_{setting}") or general).strip()
