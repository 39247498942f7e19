"""Clusters drawn from a seed, which change step by step: nodes come, change, go and come back on other rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec

from replica.cache.node_table import NodeTable
from tests.harness.objects import node, pod

if TYPE_CHECKING:
    from replica.api.nodes import Node
    from replica.api.pods import Pod

MIB = 1 << 20
AMOUNTS = {
    "cpu": (0, 1, 99, 100, 250, 1000, 4000),
    "memory": (0, 1, MIB, 200 * MIB, 1 << 30, (1 << 47) + 1, 1 << 62),
    "ephemeral-storage": (0, 1, 1 << 30),
    "example.com/gpu": (0, 1, 2, 8),
    "own.org/fpga": (0, 1),
    "hugepages-2Mi": (0, 2 * MIB),
}
CORDON = "node.kubernetes.io/unschedulable"
NAMES = tuple(f"n{number}" for number in range(9))
LABELS = {"zone": ("a", "b", "c", ""), "disk": ("ssd", "hdd"), "cores": ("4", "16", "+7", "-3", "many", "9" * 20)}
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
IMAGES = ("app", "app:latest", "reg:5000/team/db", "reg:5000/team/db:latest", "web:2", "tool@sha256:ab")
SIZES = (0, 5 * MIB, 23 * MIB, 40 * MIB, 500 * MIB, 1000 * MIB, 3000 * MIB + 1)
ADDRESSES = ("", "0.0.0.0", "127.0.0.1", "10.0.0.1")  # what pods ask for
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class DrawnCluster:
    """A node table, and the same nodes and pods kept as plainly as can be.

    Args:
        roomy: Most nodes can take most pods, so that scores decide; otherwise each refuses most, for many reasons.

    Attributes:
        nodes: Name -> node.
        placed: uid -> (node's name, pod); the node may be gone.
    """

    def __init__(self, seed: int, *, roomy: bool = False) -> None:
        self._roomy = roomy
        self.draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
        self.table = NodeTable(capacity=4)
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, tuple[str, Pod]] = {}
        self._copies = 0
        for _ in range(self.draw.randrange(2, 9)):
            self._set_node()
        for _ in range(self.draw.randrange(10)):
            self._add_pod()

    def change(self, steps: int = 3) -> None:
        """Let something happen."""
        for _ in range(steps):
            match self.draw.randrange(6):
                case 0 | 1:
                    self._set_node()
                case 2 if len(self.nodes) > 1:
                    gone = self.draw.choice(sorted(self.nodes))
                    del self.nodes[gone]
                    self.table.remove_node(gone)
                case 3 if self.placed:
                    uid = self.draw.choice(sorted(self.placed))
                    where, _ = self.placed.pop(uid)
                    self.table.remove_pod(where, uid)
                case _:
                    self._add_pod()

    def place(self, name: str, each: Pod) -> None:
        self.placed[each.uid] = (name, each)
        self.table.add_pod(name, each)

    def again(self, each: Pod) -> Pod:
        """Another pod of the same kind."""
        self._copies += 1
        return msgspec.structs.replace(each, uid=f"{each.uid}-{self._copies}")

    def on(self, name: str) -> list[Pod]:
        """The pods on a node."""
        return [each for where, each in self.placed.values() if where == name]

    def ask(self) -> Pod:
        """A pod that has no node yet."""
        spec: dict[str, Any] = {}
        draw = self.draw
        if draw.random() < 0.4:
            spec["tolerations"] = [self._toleration() for _ in range(draw.randrange(1, 3))]
        if draw.random() < (0.05 if self._roomy else 0.3):
            spec["nodeSelector"] = dict([self._label()])
        if draw.random() < 0.5:
            spec["affinity"] = {"nodeAffinity": self.node_affinity()}
        if draw.random() < 0.3:
            spec["initContainers"] = [self._container("init") for _ in range(draw.randrange(1, 3))]
            spec["initContainers"][0]["restartPolicy"] = draw.choice(("", "Always"))
        if draw.random() < 0.2:
            spec["overhead"] = self._requests()
        containers = [self._container("main") for _ in range(draw.choice((1, 1, 1, 2)))]
        return pod(containers=containers, **spec)

    def node_affinity(self) -> dict[str, Any]:
        draw, found = self.draw, {}
        if draw.random() < (0.2 if self._roomy else 0.7):
            found[REQUIRED] = {"nodeSelectorTerms": [self._term() for _ in range(draw.randrange(1, 3))]}
        if draw.random() < 0.7:
            found[PREFERRED] = [
                {"weight": draw.choice((1, 7, 100)), "preference": self._term()} for _ in range(draw.randrange(1, 4))
            ]
        return found

    # --- parts

    def _set_node(self) -> None:
        draw = self.draw
        name = draw.choice(NAMES)
        allocatable = {
            resource: _quantity(resource, draw.choice(amounts) * draw.choice((1, 1, 3)) + self._more(resource))
            for resource, amounts in AMOUNTS.items()
            if draw.random() < (0.95 if self._roomy else 0.75)
        }
        made = node(
            name,
            allocatable={**allocatable, "pods": draw.choice((0, 1, 3, 20, 20))},
            labels=dict(self._label() for _ in range(draw.randrange(4))),
            taints=tuple(self._taint() for _ in range(draw.choice((0, 0, 1, 2)))),
            unschedulable=draw.random() < 0.15,
            images={draw.choice(IMAGES): draw.choice(SIZES) for _ in range(draw.choice((0, 1, 3)))},
        )
        self.nodes[name] = made
        self.table.set_node(made)

    def _add_pod(self) -> None:
        self.place(self.draw.choice(NAMES), pod(containers=[self._container("main")]))

    def _container(self, name: str) -> dict[str, Any]:
        draw = self.draw
        ports = [self._port() for _ in range(draw.choice((0, 0, 0, 0, 0, 1) if self._roomy else (0, 0, 1, 2)))]
        return {
            "name": name,
            "image": draw.choice(IMAGES),
            "ports": ports,
            "resources": {"requests": self._requests()},
        }

    def _requests(self) -> dict[str, str]:
        draw = self.draw
        return {
            resource: _quantity(resource, draw.choice(amounts[: 5 if self._roomy else None]))
            for resource, amounts in AMOUNTS.items()
            if draw.random() < 0.3
        }

    def _more(self, resource: str) -> int:
        return self.draw.choice((6000, 20000)) * (1 if resource == "cpu" else MIB) if self._roomy else 0

    def _port(self) -> dict[str, Any]:
        draw = self.draw
        return {
            "containerPort": 80,
            "hostPort": draw.choice((0, 80, 80, 81)),
            "hostIP": draw.choice(ADDRESSES),
            "protocol": draw.choice(("TCP", "UDP", "TCP")),
        }

    def _label(self) -> tuple[str, str]:
        key = self.draw.choice(sorted(LABELS))
        return key, self.draw.choice(LABELS[key])

    def _taint(self) -> dict[str, str]:
        draw = self.draw
        effect = draw.choice((*EFFECTS, *["PreferNoSchedule"] * 4) if self._roomy else EFFECTS)
        return {"key": draw.choice("kl"), "value": draw.choice(("", "v")), "effect": effect}

    def _toleration(self) -> dict[str, str]:
        draw = self.draw
        key = draw.choice(("", "k", "l", CORDON))
        operator = draw.choice(("Exists", "Equal", "")) if key else "Exists"
        value = draw.choice(("", "v")) if operator != "Exists" else ""
        return {"key": key, "operator": operator, "value": value, "effect": draw.choice(("", *EFFECTS))}

    def _term(self) -> dict[str, Any]:
        draw, found = self.draw, {}
        if draw.random() < 0.8:
            found["matchExpressions"] = [self._expression() for _ in range(draw.choice((1, 1, 2)))]
        if draw.random() < 0.3:
            found["matchFields"] = [
                {
                    "key": "metadata.name",
                    "operator": draw.choice(("In", "In", "NotIn")),
                    "values": draw.sample(NAMES, draw.randrange(1, 5)),
                }
            ]
        return found

    def _expression(self) -> dict[str, Any]:
        draw = self.draw
        key, _ = self._label()
        match draw.choice(("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")):
            case "In" | "NotIn" as operator:
                values = draw.sample((*LABELS[key], "none"), draw.randrange(1, 3))
                return {"key": key, "operator": operator, "values": values}
            case "Gt" | "Lt" as operator:
                return {"key": "cores", "operator": operator, "values": [draw.choice(("4", "0", "-4", "16"))]}
            case operator:
                return {"key": key, "operator": operator}


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)
