"""`replica` with a plugin of another package enabled: one that holds, stumbles, and waits for a pod `key`.

A pod `held` waits in Permit until `key` asks for its own permission; a pod `vain` waits there for a second and is then
rejected; a pod `stumbling` meets an exception in PreFilter as long as there is no pod `key`.
"""

from __future__ import annotations

from component import logs
from replica.__main__ import main
from replica.api.kinds import POD
from replica.framework.interface import PreFilterResult
from replica.framework.profile import Use
from replica.framework.status import SUCCESS, Code, Status
from replica.plugins import in_tree

NAME = "Patience"
LONG, SHORT = 600.0, 1.0

log = logs.get("launcher")


class StumbledError(Exception):
    """What the plugin raises."""


class Patience:
    """The plugin."""

    name = NAME

    def __init__(self, handle):
        self.handle = handle

    def pre_filter(self, state, pod, nodes):
        if pod.name == "stumbling" and self.handle.listers[POD.kind].get("key", pod.namespace) is None:
            raise StumbledError("there is no key")
        return PreFilterResult(SUCCESS)

    def permit(self, state, pod, node_name):
        if pod.name in {"held", "vain"}:
            log.info("held", pod=pod.name)
            return Status(Code.WAIT), LONG if pod.name == "held" else SHORT
        if pod.name == "key":
            for waiting in self.handle.waiting.all():
                if waiting.pod.name == "held":
                    self.handle.waiting.allow(waiting.pod.uid, NAME)
        return SUCCESS, 0.0


def plant() -> None:
    """Put it in, as an entry point and a configuration would."""
    in_tree.FACTORIES[NAME] = lambda args, handle: Patience(handle)
    in_tree.DEFAULTS = (*in_tree.DEFAULTS, Use(NAME))


if __name__ == "__main__":
    plant()
    main()
