"""What a link adds to a round trip: of a few bytes, and of a read of etcd."""

from __future__ import annotations

import os
import socket
from dataclasses import replace

import pytest

from tests.bench.test_handoffs import tell
from tests.harness.etcd import opened
from tests.harness.plain_server import PlainServer, dial, exchange
from tests.harness.proxy import Proxy
from tests.harness.replicas import CLOCK

pytestmark = [pytest.mark.etcd, pytest.mark.slow, pytest.mark.timeout(600)]

TRIPS = int(os.environ.get("LOCKD_TRIALS", "3000"))


def measured(trip):
    """Microseconds of a round trip: the median, and the 99th of 100."""
    took = []
    for _ in range(TRIPS):
        began = CLOCK.now()
        trip()
        took.append(CLOCK.now() - began)
    took.sort()
    return 1e6 * took[TRIPS // 2], 1e6 * took[TRIPS * 99 // 100]


def told(what, *ways):
    shown = "; ".join(
        f"{how} p50 {p50:.0f}, p99 {p99:.0f} µs"
        for how, (p50, p99) in zip(("directly", "through a link"), ways, strict=True)
    )
    tell(f"{what}, {TRIPS} round trips, load {os.getloadavg()[0]:.1f}: {shown}")


def test_a_few_bytes():
    with PlainServer() as server, Proxy(server.address) as proxy:
        found = []
        for where in (server.address, proxy.endpoint):
            with dial(where) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found.append(measured(lambda connection=connection: exchange(connection, b"x" * 100)))
    told("100 bytes", *found)


def test_a_read_of_etcd(etcd):
    with Proxy(etcd.members[0].endpoint) as proxy:
        found = []
        for connection in (etcd.connection, replace(etcd.connection, endpoints=(proxy.endpoint,))):
            with opened(connection) as gateway:
                found.append(measured(lambda gateway=gateway: gateway.range("bench", timeout=20.0)))
    told("a linearizable read", *found)
