"""An extender over HTTP, in the words of kube-scheduler's extender API v1."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockd.errors import LockdError
from replica.api.codec import parse_envelope
from replica.extenders.nodes import node_document
from replica.extenders.transport import Failed, Transport
from replica.framework.extenders import ExtenderFailed, Filtered
from replica.framework.victims import Victims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from component.clock import Clock
    from lockd.fencing import Guard
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.extenders.config import ExtenderConfig

TOKEN_HEADER: Final = "Lockd-Fencing-Token"  # noqa: S105 - a header's name
"""The term's token: an extender that keeps anything must refuse a lower one than the highest it has seen."""

TERM_KEY_HEADER: Final = "Lockd-Term-Key"
TERM_VALUE_HEADER: Final = "Lockd-Term-Value"
"""Key and value (base64) that, with the token as the key's mod revision, are the guard of a transaction on etcd."""


class HttpExtender:
    """One extender.

    Args:
        node: The node of a name, for extenders that don't know the nodes themselves.

    Raises:
        ConfigError: Its TLS can't be set up.
    """

    def __init__(self, config: ExtenderConfig, node: Callable[[str], Node | None], clock: Clock) -> None:
        self.name = config.url_prefix
        self.ignorable = config.ignorable
        self.weight = config.weight
        self.timeout = float(config.http_timeout)
        self.verbs = frozenset(
            verb
            for verb, said in (
                ("filter", config.filter_verb),
                ("prioritize", config.prioritize_verb),
                ("bind", config.bind_verb),
                ("preempt", config.preempt_verb),
            )
            if said
        )
        self._config = config
        self._managed = frozenset(each.name for each in config.managed_resources)
        self._node = node
        self._transport = Transport(config, clock)
        self._guard: Guard | None = None

    def lead(self, guard: Guard | None) -> None:
        self._guard = guard
        if guard is None:
            self._transport.release()

    def interested(self, pod: Pod) -> bool:
        return not self._managed or any(name in self._managed for name, _ in (*pod.spec.requests, *pod.spec.limits))

    def filter(self, pod: Pod, names: Sequence[str]) -> Filtered:
        answer = self._ask(self._config.filter_verb, self._args(pod, names))
        passed = answer.get("nodenames") if self._config.node_cache_capable else None
        if passed is None:
            passed = _names_in(answer.get("nodes"))
        if passed is None:
            passed = answer.get("nodenames")
        if not isinstance(passed, list) or not all(isinstance(name, str) for name in passed):
            raise ExtenderFailed(self.name, "told of no nodes, not even an empty list")
        failed, unresolvable = (answer.get(key) or {} for key in ("failednodes", "failedandunresolvablenodes"))
        if not (isinstance(failed, dict) and isinstance(unresolvable, dict)):
            raise ExtenderFailed(self.name, "told of failed nodes in no map")
        return Filtered(frozenset(passed), _lines(failed), _lines(unresolvable))

    def prioritize(self, pod: Pod, names: Sequence[str]) -> Mapping[str, int]:
        answer = self._post(self._config.prioritize_verb, self._args(pod, names))
        found: dict[str, int] = {}
        for each in answer if isinstance(answer, list) else (None,):
            entry = _lowered(each)
            host, score = entry.get("host"), entry.get("score", 0)
            if not isinstance(host, str) or not isinstance(score, int) or isinstance(score, bool):
                raise ExtenderFailed(self.name, "its scores are no list of host and score")
            found[host] = score
        return found

    def bind(self, pod: Pod, node_name: str) -> None:
        args = {"podName": pod.name, "podNamespace": pod.namespace, "podUID": pod.uid, "node": node_name}
        self._ask(self._config.bind_verb, args, once=True)

    def preempt(self, pod: Pod, candidates: Mapping[str, Victims]) -> Mapping[str, Victims]:
        known = self._config.node_cache_capable
        key = "nodeNameToMetaVictims" if known else "nodeNameToVictims"
        told = {
            name: {
                "pods": [{"uid": each.uid} if known else self._pod(each) for each in victims.pods],
                "numPDBViolations": victims.violations,
            }
            for name, victims in candidates.items()
        }
        answer = self._ask(self._config.preempt_verb, {"pod": self._pod(pod), key: told})
        left = answer.get("nodenametometavictims")
        if not isinstance(left, dict):
            raise ExtenderFailed(self.name, "told of no victims, not even an empty map")
        return {name: self._victims(name, each, candidates.get(name)) for name, each in left.items()}

    def _victims(self, name: str, said: Any, asked: Victims | None) -> Victims:
        entry = _lowered(said)
        known = {each.uid: each for each in asked.pods} if asked is not None else {}
        uids = [str(_lowered(each).get("uid")) for each in entry.get("pods") or ()]
        if strangers := [uid for uid in uids if uid not in known]:
            raise ExtenderFailed(
                self.name, f"told of a victim {strangers[0]!r} on {name!r} that it was not asked about"
            )
        violations = entry.get("numpdbviolations", 0)
        return Victims(tuple(known[uid] for uid in uids), violations if isinstance(violations, int) else 0)

    # --- requests

    def _args(self, pod: Pod, names: Sequence[str]) -> dict[str, Any]:
        if self._config.node_cache_capable:
            return {"pod": self._pod(pod), "nodes": None, "nodenames": list(names)}
        nodes = [node_document(node) for name in names if (node := self._node(name)) is not None]
        items = {"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": nodes}
        return {"pod": self._pod(pod), "nodes": items, "nodenames": None}

    def _pod(self, pod: Pod) -> msgspec.Raw | dict[str, Any]:
        """As its user wrote it, while it waits; of one that is bound nothing but its names is kept."""
        if pod.value is None:
            metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "labels": dict(pod.labels)}
            return {"metadata": metadata, "spec": {"nodeName": pod.node}}
        return msgspec.Raw(parse_envelope(pod.path, pod.value).manifest)

    def _ask(self, verb: str, args: Mapping[str, Any], *, once: bool = False) -> dict[str, Any]:
        answer = _lowered(self._post(verb, args, once=once))
        if error := answer.get("error"):
            raise ExtenderFailed(self.name, f"{verb}: {error}")
        return answer

    def _post(self, verb: str, args: Mapping[str, Any], *, once: bool = False) -> Any:
        guard = self._guard
        if guard is None:
            raise ExtenderFailed(self.name, "nobody leads: it is not asked")
        headers = {
            TOKEN_HEADER: str(int(guard.token)),
            TERM_KEY_HEADER: guard.key,
            TERM_VALUE_HEADER: base64.b64encode(guard.value).decode(),
        }
        try:
            return msgspec.json.decode(self._transport.post(verb, msgspec.json.encode(args), headers, once=once))
        except Failed as error:
            raise ExtenderFailed(self.name, f"{verb}: {error}") from error
        except (msgspec.MsgspecError, LockdError) as error:
            raise ExtenderFailed(self.name, f"{verb}: its answer is no JSON: {error}") from error


def _lowered(answer: Any) -> dict[str, Any]:
    """An object with its keys in lower case, as Go's decoder takes them; nothing of anything else."""
    return {key.lower(): value for key, value in answer.items()} if isinstance(answer, dict) else {}


def _names_in(nodes: Any) -> list[Any] | None:
    """The names in a NodeList."""
    items = _lowered(nodes).get("items")
    if not isinstance(items, list):
        return None
    return [_lowered(_lowered(each).get("metadata")).get("name") for each in items]


def _lines(reasons: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(reason) for name, reason in reasons.items()}


def make(configs: Iterable[ExtenderConfig], node: Callable[[str], Node | None], clock: Clock) -> list[HttpExtender]:
    """All that a configuration names.

    Raises:
        ConfigError: The TLS of one can't be set up.
    """
    return [HttpExtender(config, node, clock) for config in configs]
