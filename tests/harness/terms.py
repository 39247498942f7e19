"""The spans of two terms, one after the other, as their replicas would emit them."""

from __future__ import annotations

from chaos.handoff import ACQUIRE, ANCHOR, BARRIER, BIND, RENEW
from chaos.spans import Span

OLD, NEW, OTHER = "host_old", "host_new", "host_other"


def old_term() -> list[Span]:
    return [
        Span(name=ANCHOR, start=100.0, end=100.0, instance=OLD, span_id="a1", attributes={"token": 5}),
        Span(name=BIND, start=100.5, end=100.6, instance=OLD, links=("a1",)),
        Span(name=RENEW, start=102.0, end=102.01, instance=OLD, links=("a1",)),
        Span(name=RENEW, start=104.0, end=104.01, instance=OLD, links=("a1",)),
    ]


def new_term(at: float) -> list[Span]:
    return [
        Span(name=ACQUIRE, start=at, end=at + 0.003, instance=NEW, attributes={"outcome": "acquired"}),
        Span(
            name=ANCHOR,
            start=at + 0.004,
            end=at + 0.004,
            instance=NEW,
            span_id="a2",
            links=("a1",),
            attributes={"token": 9},
        ),
        Span(name=BARRIER, start=at + 0.004, end=at + 0.010, instance=NEW, links=("a2",)),
        Span(name=BIND, start=at + 0.012, end=at + 0.020, instance=NEW, links=("a2",)),
        Span(name=BIND, start=at + 0.020, end=at + 0.030, instance=NEW, links=("a2",)),
    ]
