"""Pods that mind their neighbours, and drawn clusters of them that change step by step."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import msgspec

from lockd.ports import KeyValue
from replica.api import codec
from replica.api.groups import Namespace
from replica.api.keys import object_key
from replica.api.kinds import POD
from replica.api.labels import Labels
from replica.cache.node_table import NodeTable
from tests.harness.objects import PREFIX, node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.nodes import Node
    from replica.api.pods import Pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
_uids = itertools.count(1)


def neighbour(
    name: str = "p",
    labels: Mapping[str, str] | None = None,
    *,
    namespace: str = "x",
    owner: str = "",
    deleting: bool = False,
    requests: Mapping[str, str] | None = None,
    node: str = "",
    **spec: Any,
) -> Pod:
    """A pod with labels, and with a ReplicaSet that controls it if one is named."""
    value = neighbour_value(
        name, labels, namespace=namespace, owner=owner, deleting=deleting, requests=requests, node=node, **spec
    )
    return codec.decode_pod(KeyValue(object_key(PREFIX, POD, name, namespace), value, 1, 1))


def neighbour_value(
    name: str = "p",
    labels: Mapping[str, str] | None = None,
    *,
    namespace: str = "x",
    owner: str = "",
    deleting: bool = False,
    requests: Mapping[str, str] | None = None,
    node: str = "",
    **spec: Any,
) -> bytes:
    """The same as it is stored."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"neighbour-{next(_uids)}",
        "labels": dict(labels or {}),
    }
    if owner:
        others = {"kind": "Foo", "name": "other", "uid": "0"}
        controlling = {"kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "controller": True}
        metadata["ownerReferences"] = [others, controlling]
    if deleting:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    container = {"name": "main", "image": "app", "resources": {"requests": dict(requests or {})}}
    document = {"metadata": metadata, "spec": {"containers": [container], **spec}}
    return codec.encode(json.dumps(document).encode(), node=node)


def constraint(key: str = "zone", skew: int = 1, *, soft: bool = False, **more: Any) -> dict[str, Any]:
    """A topology spread constraint for the pods of `app: a`, unless `labelSelector` is given."""
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        **more,
    }


def near(key: str = "zone", **more: Any) -> dict[str, Any]:
    """A term for the pods of `app: a`, unless `labelSelector` is given."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "a"}}, **more}


def affinity(*terms: dict[str, Any], preferred: tuple[tuple[int, dict[str, Any]], ...] = ()) -> dict[str, Any]:
    """What stands under `podAffinity` or `podAntiAffinity`."""
    return {
        REQUIRED: list(terms),
        PREFERRED: [{"weight": weight, "podAffinityTerm": term} for weight, term in preferred],
    }


class Namespaces:
    """The lister of namespaces, for tests."""

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, str]] = {}

    def get(self, name: str) -> Namespace | None:
        return Namespace(name=name, labels=Labels(self.labels[name])) if name in self.labels else None


NODES = tuple(f"n{number}" for number in range(8))
KEYS = ("zone", "rack", HOSTNAME)
APPS = ("a", "b")
SPACES = ("x", "y", "z")


class DrawnCrowd:
    """A node table, and the same nodes and pods kept as plainly as can be.

    Args:
        whole: Every node has all labels, and pods say less of each other: as it is as a rule.

    Attributes:
        nodes: Name -> node.
        placed: uid -> (node's name, pod); the node may be gone.
        namespaces: Those with labels.
    """

    def __init__(self, seed: int, *, whole: bool = False) -> None:
        self._whole = whole
        self.draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
        self.table = NodeTable(capacity=4)
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, tuple[str, Pod]] = {}
        self.namespaces = Namespaces()
        for _ in range(self.draw.randrange(2, 9)):
            self._set_node()
        for _ in range(self.draw.randrange(14)):
            self.add_pod()

    def change(self, steps: int = 3) -> None:
        """Let something happen."""
        for _ in range(steps):
            match self.draw.randrange(9):
                case 0 | 1:
                    self._set_node()
                case 2 if len(self.nodes) > 1:
                    gone = self.draw.choice(sorted(self.nodes))
                    del self.nodes[gone]
                    self.table.remove_node(gone)
                case 3 | 4 if self.placed:
                    uid = self.draw.choice(sorted(self.placed))
                    where, _ = self.placed.pop(uid)
                    self.table.remove_pod(where, uid)
                case 5 if self.placed:
                    uid = self.draw.choice(sorted(self.placed))
                    where, old = self.placed[uid]
                    labels = Labels(self._labels()) if self.draw.random() < 0.5 else old.labels
                    deleting = old.deleting or labels is old.labels
                    self.place(where, msgspec.structs.replace(old, labels=labels, deleting=deleting))
                case 6:
                    name = self.draw.choice(SPACES)
                    if self.namespaces.labels.pop(name, None) is None:
                        self.namespaces.labels[name] = {"team": self.draw.choice("rs")}
                case _:
                    self.add_pod()

    def place(self, name: str, each: Pod) -> None:
        self.placed[each.uid] = (name, each)
        self.table.add_pod(name, each)

    def add_pod(self) -> None:
        self.place(self.draw.choice(NODES), self.ask())

    def again(self, each: Pod) -> Pod:
        """Another pod of the same kind."""
        return msgspec.structs.replace(each, uid=f"again-{next(_uids)}")

    def on(self, name: str) -> list[Pod]:
        """The pods on a node."""
        return [each for where, each in self.placed.values() if where == name]

    def ask(self) -> Pod:
        """A pod that has no node yet."""
        draw = self.draw
        spec: dict[str, Any] = {}
        if draw.random() < 0.5:
            spec["topologySpreadConstraints"] = [self._constraint() for _ in range(draw.choice((1, 1, 2, 3)))]
        if draw.random() < 0.5:
            given = {}
            for kind in ("podAffinity", "podAntiAffinity"):
                if draw.random() < 0.6:
                    given[kind] = affinity(
                        *(self._term() for _ in range(draw.choice((0, 0, 1, 2)))),
                        preferred=tuple(
                            (draw.choice((1, 7, 100)), self._term())
                            for _ in range(0 if self._whole else draw.choice((0, 0, 1, 2)))
                        ),
                    )
            spec["affinity"] = given
        if draw.random() < 0.2:
            spec["nodeSelector"] = {"zone": draw.choice("123")}
        if draw.random() < 0.3:
            spec["tolerations"] = [{"operator": "Exists"}]
        return neighbour(
            labels=self._labels(),
            namespace=draw.choice((*SPACES, "x", "x")),
            owner=draw.choice(("", "", "r", "s")),
            deleting=draw.random() < 0.1,
            requests={"cpu": draw.choice(("0", "100m", "1"))},
            **spec,
        )

    # --- parts

    def _labels(self) -> dict[str, str]:
        draw = self.draw
        found = {"app": draw.choice(APPS)} if draw.random() < 0.85 else {}
        if draw.random() < 0.4:
            found["version"] = draw.choice("12")
        return found

    def _set_node(self) -> None:
        draw = self.draw
        name = draw.choice(NODES)
        labels = {}
        for key, values, share in (("zone", "123", 0.85), ("rack", "12", 0.5), (HOSTNAME, (name,), 0.85)):
            if self._whole or draw.random() < share:
                labels[key] = draw.choice(values)
        if self._whole or (draw.random() < 0.4 and "zone" in labels):
            labels[ZONE] = labels["zone"]
        taints = ({"key": "k", "value": "", "effect": draw.choice(("NoSchedule", "PreferNoSchedule"))},)
        made = node(
            name,
            labels=labels,
            taints=taints if draw.random() < 0.2 else (),
            allocatable={"cpu": draw.choice(("2", "8", "8")), "memory": "8Gi", "pods": 30},
        )
        self.nodes[name] = made
        self.table.set_node(made)

    def _selector(self) -> dict[str, Any] | None:
        draw = self.draw
        match draw.randrange(8):
            case 0:
                return None
            case 1:
                return {}
            case 2:
                return {"matchExpressions": [{"key": "version", "operator": draw.choice(("Exists", "DoesNotExist"))}]}
            case 3:
                return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}
            case 4:
                return {"matchLabels": {"app": "a", "version": draw.choice("12")}}
        return {"matchLabels": {"app": draw.choice(APPS)}}

    def _constraint(self) -> dict[str, Any]:
        draw = self.draw
        made = constraint(
            draw.choice(KEYS), draw.choice((1, 1, 2, 5)), soft=draw.random() < 0.4, labelSelector=self._selector()
        )
        if draw.random() < 0.3 and made["whenUnsatisfiable"] == "DoNotSchedule":
            made["minDomains"] = draw.choice((1, 2, 3, 9))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if draw.random() < 0.4:
                made[field] = draw.choice(("Honor", "Ignore"))
        if draw.random() < 0.3:
            made["matchLabelKeys"] = ["version", "none"]
        return made

    def _term(self) -> dict[str, Any]:
        draw = self.draw
        made = near(draw.choice(KEYS), labelSelector=self._selector())
        match draw.randrange(6):
            case 0:
                made["namespaces"] = draw.sample(SPACES, 2)
            case 1:
                made["namespaceSelector"] = {}
            case 2:
                made["namespaceSelector"] = {"matchLabels": {"team": draw.choice("rs")}}
                made["namespaces"] = draw.choice(([], ["y"]))
            case 3:
                own = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": draw.sample(SPACES, 2)}
                made["namespaceSelector"] = {"matchExpressions": [own]}
        if draw.random() < 0.2:
            made["matchLabelKeys"] = ["version"]
        elif draw.random() < 0.2:
            made["mismatchLabelKeys"] = ["version"]
        return made
