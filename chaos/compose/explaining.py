"""What docker and compose say when something fails, as one clear line with its remedy. Pure."""

from __future__ import annotations

import re

from chaos.compose.command import USAGE, Refusal

PORTS = {
    "10261": "REPLICA_1_PORT",
    "10262": "REPLICA_2_PORT",
    "10263": "REPLICA_3_PORT",
    "7600": "LOCKD_PORT",
    "7601": "LOCKD_HTTP_PORT",
    "9090": "PROMETHEUS_PORT",
    "3000": "GRAFANA_PORT",
    "16686": "JAEGER_PORT",
}
"""The variable by which each port can be another, as docker-compose.yml has them."""

TAKEN = re.compile(r":(\d+)\b[^\n]*?(?:port is already allocated|address already in use)")
DENIED = re.compile(
    r"pull access denied for ([^\s,]+)|manifest for (\S+) not found|(\S+): not found|unknown: repository (\S+)"
)
BAD_NAME = re.compile(r"invalid reference format|invalid tag|could not parse image")
UNREACHED = re.compile(
    r"no such host|i/o timeout|connection refused|network is unreachable|Client\.Timeout|TLS handshake timeout"
    r"|x509:|server misbehaving|connection reset|\bEOF\b|[45]\d\d (?:Forbidden|Bad Gateway)|unexpected status"
)
REGISTRY = re.compile(r"/v2/|registry|pull|manifest|resolve|token", re.IGNORECASE)
NO_PROGRAM = re.compile(r'exec: \\?"([^"\\]+)\\?": (?:executable file not found|stat|permission denied)')
NO_NETWORK = re.compile(r"could not find an available|all predefined address pools|non-overlapping IPv4")
VARIABLE = re.compile(r"[Ii]nvalid interpolation format|required variable (\w+)")

IMAGES = "LOCKD_IMAGE, PYTHON_IMAGE or ETCD_IMAGE, in the environment or in compose/.env"


def last_line(text: str) -> str:
    """The last line that says something, without what a builder or compose puts before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"^(?:ERROR: *|failed to solve: *|Error response from daemon: *)+", "", lines[-1]) if lines else ""


def explained(text: str) -> Refusal:
    """What a failure of docker or compose means."""
    if taken := TAKEN.search(text):
        port = taken[1]
        name = PORTS.get(port)
        remedy = f"set {name} to a free one, or end what holds it" if name else "name another, or end what holds it"
        return Refusal(f"port {port} of this host is taken", remedy)
    if NO_NETWORK.search(text):
        return Refusal("Docker has no network addresses left", "docker network prune")
    if BAD_NAME.search(text):
        return Refusal(f"that is no name of an image ({last_line(text)})", f"mend {IMAGES}", code=USAGE)
    if UNREACHED.search(text) and REGISTRY.search(text):
        remedy = "make bases makes base images from Debian packages, without a registry"
        return Refusal(f"no container registry can be reached ({last_line(text)})", remedy)
    if denied := DENIED.search(text):
        name = next(group for group in denied.groups() if group)
        return Refusal(f"there is no image {name}", f"mend {IMAGES}", code=USAGE)
    if program := NO_PROGRAM.search(text):
        return Refusal(f"an image has no program {program[1]}: it is the wrong one", f"mend {IMAGES}", code=USAGE)
    return Refusal(
        f"docker failed ({last_line(text) or 'it does not say why'})", "make logs tells what the containers say"
    )
