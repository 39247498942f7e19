"""Extenders over HTTP: what they are told, what is made of what they say, and of what they can't mean."""

from __future__ import annotations

import json
import ssl
import threading

import pytest

from component import strict
from component.clock import SystemClock
from lockd.errors import ConfigError
from lockd.fencing import Guard, Token
from replica.api import codec
from replica.extenders.config import ExtenderConfig
from replica.extenders.http import HttpExtender
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.extenders import ExtenderFailed, Extenders
from replica.framework.status import Code, PluginFailed
from replica.framework.victims import Victims
from tests.harness import certs
from tests.harness.extender import ExtenderServer
from tests.harness.framework import runtime_of, table_of
from tests.harness.objects import node, pod
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World

GUARD = Guard("/t/terms/kube-system/kube-scheduler", Token(7), b"me")
NODES = {name: node(name, labels={"zone": name}) for name in ("a", "b", "c")}
GPU = "example.com/gpu"


@pytest.fixture
def server():
    with ExtenderServer() as made:
        yield made


def extender(server, *, lead=True, **fields):
    said = {
        "urlPrefix": f"{server.url}/v1",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "preemptVerb": "preempt",
        "weight": 2,
        "httpTimeout": "20s",
        **fields,
    }
    made = HttpExtender(strict.decode(said, ExtenderConfig), NODES.get, SystemClock())
    if lead:
        made.lead(GUARD)
    return made


def placed(*extenders, each=None):
    runtime = runtime_of(extenders=Extenders(extenders))
    return runtime.place(CycleState(), each or pod(requests={"cpu": "1"}), table_of(NODES.values()).snapshot())


def test_it_leaves_the_nodes_that_it_names_and_says_why_not_the_others(server):
    server.only = ["b"]
    assert placed(extender(server)).node_name == "b"
    server.only = []
    found = placed(extender(server))
    assert found.message == "0/3 nodes are available: 3 no licence."
    assert found.plugins == {f"{server.url}/v1"}


def test_it_scores_with_its_weight(server):
    server.scores = {"c": 1}
    found = placed(extender(server))
    assert found.node_name == "c"
    assert found.score == placed().score + 2 * 10


@pytest.mark.parametrize("known", [True, False])
def test_it_is_told_the_pod_and_the_nodes_and_the_token(server, known):
    placed(extender(server, nodeCacheCapable=known), each=pod("asker", requests={"cpu": "1"}))
    (verb, args, headers), _ = server.seen
    assert (verb, args["pod"]["metadata"]["name"]) == ("filter", "asker")
    if known:
        assert (args["nodes"], sorted(args["nodenames"])) == (None, ["a", "b", "c"])
    else:
        assert args["nodenames"] is None
        assert {each["metadata"]["labels"]["zone"] for each in args["nodes"]["items"]} == {"a", "b", "c"}
        assert args["nodes"]["items"][0]["status"]["allocatable"]["cpu"] == "4000m"
    assert headers["Lockd-Fencing-Token"] == "7"
    assert (headers["Lockd-Term-Key"], headers["Lockd-Term-Value"]) == (GUARD.key, "bWU=")


def test_it_is_asked_only_of_pods_with_a_resource_that_it_manages(server):
    one = extender(server, managedResources=[{"name": GPU}])
    assert isinstance(placed(one), object)
    assert server.seen == []
    assert not one.interested(pod(requests={"cpu": "1"}))
    assert one.interested(pod(requests={GPU: 1}))


WRONG = {
    "gibberish": "told of no nodes",
    "empty": "told of no nodes, not even an empty list",
    "error": "no licence left",
    "fails": "answered 500",
    "lies": "told of node 'atlantis', which it was not asked about",
    "hangs": "no answer within 0.3 s",
    "trickles": "no answer within 0.3 s",
}


@pytest.mark.parametrize("behaviour", WRONG)
def test_one_that_goes_wrong_ends_the_cycle_unless_it_may_be_ignored(server, behaviour):
    server.behaviour = behaviour
    timeout = {"httpTimeout": "300ms"} if behaviour in {"hangs", "trickles"} else {}
    with pytest.raises(PluginFailed) as raised:
        placed(extender(server, **timeout))
    assert WRONG[behaviour] in str(raised.value)
    assert not isinstance(placed(extender(server, ignorable=True, **timeout)), Diagnosis)


def test_one_that_is_dead_ends_the_cycle_unless_it_may_be_ignored():
    with ExtenderServer() as gone:
        url = gone.url
    with pytest.raises(PluginFailed, match="refused"):
        placed(extender(gone))
    assert placed(extender(gone, ignorable=True)).node_name
    assert url


@pytest.mark.parametrize("behaviour", ["contradicts", "lies", "gibberish", "fails"])
def test_scores_that_can_not_be_meant_count_for_nothing(server, behaviour):
    server.behaviour = behaviour
    assert placed(extender(server, filterVerb="")).score == placed().score


def test_nobody_is_asked_but_by_a_leader(server):
    with pytest.raises(PluginFailed, match="nobody leads"):
        placed(extender(server, lead=False))
    assert server.seen == []


def test_the_end_of_a_term_lets_go_of_who_waits_for_an_answer(server):
    server.behaviour = "hangs"
    one, told = extender(server, httpTimeout="600s"), []

    def ask():
        try:
            one.filter(pod(), ["a"])
        except ExtenderFailed as error:
            told.append(error.reason)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    eventually(lambda: server.seen, within=WITHIN)
    one.lead(None)
    thread.join(WITHIN)
    assert told == ["filter: the term is over"]


def test_preemption_is_left_what_it_leaves_and_no_more(server):
    victims = {name: Victims((pod(f"v-{name}"),), 1) for name in ("a", "b")}
    server.only = ["b"]
    assert Extenders([extender(server)]).preempt(pod(), victims) == {"b": Victims(victims["b"].pods, 0)}
    server.behaviour = "lies"
    with pytest.raises(PluginFailed, match="atlantis"):
        Extenders([extender(server)]).preempt(pod(), victims)
    assert Extenders([extender(server, ignorable=True)]).preempt(pod(), victims) == victims


def test_a_connection_is_kept_and_one_closed_meanwhile_is_made_anew(server):
    one = extender(server)
    assert placed(one).node_name
    kept = list(one._transport._idle)
    assert placed(one).node_name
    assert one._transport._idle == kept
    kept[0].sock.close()
    kept[0].sock = None
    assert placed(one).node_name


@pytest.mark.parametrize(
    ("tls", "words"),
    [
        ({"caFile": str(certs.path("ca.pem"))}, ""),
        ({"insecure": True}, ""),
        ({"caFile": str(certs.path("stranger.pem"))}, "certificate verify failed"),
        ({}, "certificate verify failed"),
        ({"caFile": str(certs.path("ca.pem")), "serverName": "elsewhere.example"}, "certificate verify failed"),
    ],
)
def test_who_it_is_is_verified(tls, words):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certs.path("server.pem"), certs.path("server.key"))
    with ExtenderServer(context) as server:
        one = extender(server, enableHTTPS=True, tlsConfig=tls)
        if not words:
            assert one.filter(pod(), ["a"]).passed == {"a"}
            return
        with pytest.raises(ExtenderFailed, match=words):
            one.filter(pod(), ["a"])


def test_tls_that_can_not_be_used_is_told_at_the_start():
    said = {"urlPrefix": "https://x", "tlsConfig": {"caFile": "/nowhere"}}
    with pytest.raises(ConfigError, match=r"extender https://x: tlsConfig can't be used"):
        HttpExtender(strict.decode(said, ExtenderConfig), NODES.get, SystemClock())


def binder_of(server, **fields):
    return extender(server, lead=False, filterVerb="", prioritizeVerb="", preemptVerb="", bindVerb="bind", **fields)


def test_one_that_binds_agrees_and_the_guarded_write_binds(server):
    with World(extenders=Extenders([binder_of(server)])) as world:
        world.add_node("a")
        world.add_pods("p")
        world.lead()
        world.wait_bound("p")
        (verb, args, headers) = server.seen[0]
        assert (verb, args["podName"], args["node"]) == ("bind", "p", "a")
        assert headers["Lockd-Fencing-Token"] == str(int(world.leadership.token))
        assert term_of(world, "p") == int(world.leadership.token)


def test_what_one_that_binds_refuses_is_not_bound_and_tried_again(server):
    server.behaviour = "error"
    with World(extenders=Extenders([binder_of(server)])) as world:
        world.add_node("a")
        world.add_pods("p")
        world.lead()
        eventually(lambda: server.verbs().count("bind") >= 2, within=WITHIN)
        assert world.node_of("p") == ""
        eventually(
            lambda: any("no licence left" in each.note for each in world.events("FailedScheduling")), within=WITHIN
        )
        server.behaviour = "honest"
        world.wait_bound("p")


def test_what_one_that_binds_says_after_the_term_binds_nothing(server):
    server.behaviour = "hangs"
    with World(extenders=Extenders([binder_of(server, httpTimeout="600s")])) as world:
        world.add_node("a")
        world.add_pods("p")
        world.lead()
        eventually(lambda: server.verbs() == ["bind"], within=WITHIN)
        world.leadership.lost.set()
        world.wait_for_end()
        assert world.failure is None
        assert world.node_of("p") == ""
        assert world.assumed.counts() == (0, 0)


def term_of(world, name):
    kv = world.etcd.get(f"/t/pods/default/{name}")
    return codec.decode_pod(kv).token


CONFIGURED = [
    ({"urlPrefix": "ftp://x"}, "urlPrefix: 'ftp://x' is no http:// or https:// address"),
    ({"urlPrefix": "http://x", "enableHTTPS": True}, "enableHTTPS: is true, and urlPrefix begins with http://"),
    ({"urlPrefix": "http://x", "prioritizeVerb": "p"}, "weight: 0 must be 1 or more where there is a prioritizeVerb"),
    ({"urlPrefix": "http://x", "httpTimeout": "0s"}, "httpTimeout: must be above 0"),
    ({"urlPrefix": "http://x", "managedResources": [{"name": "cpu"}]}, "'cpu' is no extended resource"),
    ({"urlPrefix": "https://x", "tlsConfig": {"certFile": "c"}}, "a certificate and its key belong together"),
]


@pytest.mark.parametrize(("said", "words"), CONFIGURED)
def test_what_can_not_be_meant_is_told(said, words):
    with pytest.raises(strict.Malformed) as raised:
        strict.decode(said, ExtenderConfig)
    assert words in str(raised.value), json.dumps(said)


def test_an_extender_that_fails_to_bind_says_so_in_its_own_name(server):
    server.behaviour = "fails"
    one = binder_of(server)
    one.lead(GUARD)
    status = Extenders([one]).bind(pod(), "a")
    assert (status.code, status.plugin) == (Code.ERROR, f"{server.url}/v1")
