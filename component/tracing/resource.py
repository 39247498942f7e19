"""Who this process is, to every signal of its telemetry."""

from __future__ import annotations

import os
import socket

from opentelemetry.sdk.resources import OTELResourceDetector, Resource


def resource(*, service: str, instance: str, version: str = "", namespace: str = "") -> Resource:
    """The attributes of this process.

    OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win, but not over what tells processes apart.
    """
    ours = {"service.name": service, "service.version": version, "service.namespace": namespace}
    named = {key: value for key, value in ours.items() if value} | {"host.name": socket.gethostname()}
    told = dict(OTELResourceDetector().detect().attributes)
    return Resource.create({**named, **told, "service.instance.id": instance, "process.pid": os.getpid()})
