"""Which pods share an evaluation, and how often plugins are asked about that."""

from __future__ import annotations

import pytest

from replica.framework.signatures import Signatures
from replica.framework.status import PluginFailed
from tests.harness.objects import pod


class Signing:
    """Signs what it is told to, and counts how often it is asked."""

    def __init__(self, name, sign, *, by_spec=True):
        self.name = name
        self.signs_spec = by_spec
        self.signature = self._counted(sign)
        self.asked = 0

    def _counted(self, sign):
        def counted(of):
            self.asked += 1
            return sign(of)

        return counted


@pytest.fixture
def by_spec():
    return Signing("BySpec", lambda of: of.spec.requests)


@pytest.fixture
def by_node():
    return Signing("ByNode", lambda of: of.node, by_spec=False)


def test_what_follows_from_the_specification_is_asked_for_once(by_spec, by_node):
    signatures = Signatures([by_spec, by_node])
    found = {signatures.of(pod(f"p{number}", requests={"cpu": "1"})) for number in range(5)}
    assert len(found) == 1
    assert (by_spec.asked, by_node.asked) == (1, 5)


def test_specifications_that_are_signed_alike_are_alike(by_spec):
    signatures = Signatures([by_spec])
    one = signatures.of(pod("a", requests={"cpu": "1"}, images=("x",)))
    other = signatures.of(pod("b", requests={"cpu": "1"}, images=("y",)))
    assert one == other
    assert one != signatures.of(pod("c", requests={"cpu": "2"}))


def test_the_others_are_heard_of_each_pod(by_spec, by_node):
    signatures = Signatures([by_spec, by_node])
    assert signatures.of(pod("a")) != signatures.of(pod("a").on("n1"))


@pytest.mark.parametrize("by_spec", [True, False])
def test_a_pod_of_which_one_cannot_say_is_like_no_other(by_spec):
    signatures = Signatures([Signing("Mute", lambda _: None, by_spec=by_spec), Signing("Other", lambda _: 1)])
    assert signatures.of(pod("a")) is None
    assert signatures.of(pod("b")) is None


def test_who_is_broken_is_named():
    def broken(_):
        raise RuntimeError("burst")

    with pytest.raises(PluginFailed, match="burst"):
        Signatures([Signing("Good", lambda _: 1), Signing("Bad", broken)]).of(pod("a"))


def test_a_plugin_that_does_not_sign_has_nobody_share():
    class Silent:
        name = "Silent"

    assert Signatures([Silent()]).of(pod("a")) is None
