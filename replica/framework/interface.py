"""The extension points: what a plugin may implement, and what it gets to see.

A plugin is one class with a name that implements one or more of these protocols; the runtime finds out which. Filter
and Score see all nodes at once, as columns (`replica.cache.nodes.Nodes`), and answer with a column. The columns may be
those of a few nodes only: a plugin must not care how many there are. Plugins written for one node at a time implement
`NodeFilterPlugin` and `NodeScorePlugin` instead and run after the others, through `replica.framework.adapter`.

Plugins are shared by all cycles of a profile and keep what belongs to one pod in the cycle state. A scheduling cycle
calls its points from one thread; PreBind, Bind, PostBind and Unreserve may be called from another for other pods at the
same time. A plugin that raises ends that pod's cycle with an error event, never the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from replica.framework.handle import Handle as Handle  # noqa: PLC0414, TC001 - plugins find it here
from replica.framework.status import SUCCESS, Code, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.attempts import Trials
    from replica.framework.cycle_state import CycleState
    from replica.framework.diagnosis import Diagnosis
    from replica.framework.disruptions import PostFilterResult
    from replica.framework.node_info import NodeInfo
    from replica.queue.hints import Registration
    from replica.queue.pod import QueuedPod

HIGHEST_SCORE = 100
"""Scores lie between 0 and this after NormalizeScore, before the weight."""


@runtime_checkable
class Plugin(Protocol):
    """Something with a name that configuration can enable."""

    @property
    def name(self) -> str: ...


@runtime_checkable
class PreEnqueuePlugin(Plugin, Protocol):
    """Asked before a pod enters the active queue."""

    def pre_enqueue(self, pod: Pod) -> Status:
        """Success lets it in; anything else keeps it gated until the pod changes."""
        ...


@runtime_checkable
class QueueSortPlugin(Plugin, Protocol):
    """Orders the active queue. Exactly one is enabled, the same for all profiles."""

    def sort_key(self, queued: QueuedPod) -> Any:
        """What pods are compared by, such as a tuple: the smallest is scheduled first."""
        ...


@runtime_checkable
class EnqueueExtensions(Plugin, Protocol):
    """Tells which cluster events may help a pod that this plugin refused."""

    def events_to_register(self) -> Sequence[Registration]: ...


@runtime_checkable
class SigningPlugin(Plugin, Protocol):
    """Tells pods apart by what this plugin's PreFilter, Filter and Score read of them.

    Pods whose signatures agree in all plugins share one evaluation, and only nodes that changed are asked about again.
    So what this plugin says of a node must follow from the signature and that node alone (and from what `WiderPlugin`
    tells), not from which are feasible; for a pod of which that isn't true it gives None. Without this protocol no pod
    shares.
    """

    def signature(self, pod: Pod) -> Hashable | None:
        """Equal for pods that this plugin treats alike on every node; None for a pod that can't share."""
        ...


@runtime_checkable
class SpecSigningPlugin(SigningPlugin, Protocol):
    """A signing plugin that reads nothing of a pod but its specification: it is asked once for each."""

    @property
    def signs_spec(self) -> bool:
        """Does its signature follow from `pod.spec` alone?"""
        ...


@runtime_checkable
class WiderPlugin(Plugin, Protocol):
    """A Filter or Score that looks beyond the node it judges: pods share an evaluation only if that agrees, too."""

    def across(self, pod: Pod, nodes: Nodes) -> Hashable:
        """What its verdicts on a pod depend on besides signature and single node, such as how many nodes there are."""
        ...


@runtime_checkable
class NodesWiderPlugin(WiderPlugin, Protocol):
    """One that looks at all nodes, but at no pods on them: it is asked again when a node has changed."""

    @property
    def across_nodes(self) -> bool:
        """Does what it gives follow from `pod.spec` and the nodes themselves?"""
        ...


@runtime_checkable
class Relational(Plugin, Protocol):
    """A Filter or Score that judges a node by pods on other nodes too, so that each placement may change all of it.

    Pods share an evaluation by all other plugins; what this one says is asked anew for each pod it concerns, over all
    nodes, and added. Its PreFilter neither refuses a pod nor narrows down the nodes, and it has no signature.
    """

    def concerns(self, pod: Pod, nodes: Nodes) -> bool:
        """Might it refuse a node to this pod, or score one? False has it left out."""
        ...


@runtime_checkable
class Ranking(Relational, Protocol):
    """A relational Score that can give its scores in one step, which is what costs less in most cycles."""

    def rank(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Amounts | None:
        """What PreScore, Score and NormalizeScore come to; None where PreScore would say Skip."""
        ...


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """What PreFilter found.

    Attributes:
        status: Success, Skip (leave out this plugin's Filter), or a refusal of the pod on all nodes.
        node_names: The only nodes worth filtering; None for all.
    """

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


@runtime_checkable
class PreFilterPlugin(Plugin, Protocol):
    """Looks at the pod once, before any node."""

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> PreFilterResult: ...


@runtime_checkable
class PreFilterExtensions(PreFilterPlugin, Protocol):
    """A PreFilter that can bring its state up to date with a pod that would come to a node, or leave it.

    Asked for a dry run: with pods that were promised room, and by preemption. The state is a copy, in which values that
    can be cloned are the dry run's own; the nodes are the one row, as it would be afterwards.
    """

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, nodes: Nodes) -> Status: ...

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, nodes: Nodes) -> Status: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason and the rows it holds for.

    Attributes:
        reason: In kube-scheduler's words, such as `Insufficient cpu`.
        rows: bool[size].
        code: UNSCHEDULABLE, or UNRESOLVABLE where no preemption would help.
    """

    reason: str
    rows: Flags
    code: Code = Code.UNSCHEDULABLE


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    """Says which nodes can take the pod."""

    def filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Flags | None:
        """bool[size], true where the node passes; None when all do. Rows that aren't valid don't matter."""
        ...

    def explain(self, state: CycleState, pod: Pod, nodes: Nodes) -> Sequence[Refusal]:
        """Why nodes don't pass: each reason with its rows. A row that fails has one at least."""
        ...


@runtime_checkable
class PostFilterPlugin(Plugin, Protocol):
    """Asked when no node is feasible: preemption."""

    def post_filter(self, state: CycleState, pod: Pod, nodes: Nodes, diagnosis: Diagnosis) -> PostFilterResult: ...


@runtime_checkable
class TryingPlugin(PostFilterPlugin, Protocol):
    """A PostFilter that tries the profile's Filter plugins on nodes as they would be."""

    def equip(self, trials: Trials) -> None:
        """Given once, before the first cycle."""
        ...


@runtime_checkable
class PreScorePlugin(Plugin, Protocol):
    """Prepares scoring once the feasible nodes are known. Skip leaves out this plugin's Score."""

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Status: ...


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    """Ranks nodes: more is better."""

    def score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Amounts | None:
        """int64[size]: 0 to HIGHEST_SCORE, or anything when the plugin normalizes; None where it is 0 for all nodes.

        Only feasible rows are looked at.
        """
        ...


@runtime_checkable
class Normalizer(Plugin, Protocol):
    """A Score plugin (of either form) whose scores are brought to 0 to HIGHEST_SCORE in a second step.

    Its pods don't share an evaluation, since a score may depend on all that are feasible; those of a `Scaler` do.
    """

    def normalize(self, state: CycleState, pod: Pod, scores: Amounts, feasible: Flags) -> Amounts:
        """int64[size] from what `score` gave. Rows that aren't feasible don't matter."""
        ...


@runtime_checkable
class Scaler(Plugin, Protocol):
    """A Score plugin whose scores, 0 or more, are brought to range by the greatest of a feasible node alone."""

    def scale(self, scores: Amounts, greatest: int) -> Amounts:
        """int64, 0 to HIGHEST_SCORE, from what `score` gave; `greatest` may be 0."""
        ...


@runtime_checkable
class RowFilterPlugin(FilterPlugin, Protocol):
    """A Filter that can also be asked about one row, which costs less than a column of one.

    When every Filter and Score of a profile has this form, nodes that changed between pods that are alike are asked
    about by it. It must say what `filter` says.
    """

    def filter_row(self, state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool: ...


@runtime_checkable
class RowScorePlugin(ScorePlugin, Protocol):
    """A Score that can also be asked about one row. It must say what `score` says."""

    def score_row(self, state: CycleState, pod: Pod, nodes: Nodes, row: int) -> int: ...


@runtime_checkable
class ByNodePlugin(Plugin, Protocol):
    """What it says of a row has nothing to do with the pods there: it is asked again when the node itself changed."""

    @property
    def by_node(self) -> bool:
        """Do `filter_row` and `score_row` follow from what pods share and from the node itself?"""
        ...


@runtime_checkable
class NodeFilterPlugin(Plugin, Protocol):
    """A Filter for one node at a time."""

    def filter_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status: ...


@runtime_checkable
class NodeScorePlugin(Plugin, Protocol):
    """A Score for one node at a time; with `normalize` its scores are brought to range as a vector plugin's are."""

    def score_node(self, state: CycleState, pod: Pod, node: NodeInfo) -> int: ...


@runtime_checkable
class ReservePlugin(Plugin, Protocol):
    """Keeps books of its own about what a pod takes."""

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status: ...

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo `reserve`, which may not have been called for this pod. Must not fail."""
        ...


@runtime_checkable
class PermitPlugin(Plugin, Protocol):
    """The last word before a pod is bound."""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Success, a refusal, or Wait with the seconds after which the pod is rejected unless allowed before."""
        ...


@runtime_checkable
class PreBindPlugin(Plugin, Protocol):
    """Work that must be done before the bind. It may take its time: it doesn't run on the scheduling thread."""

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status: ...


@runtime_checkable
class BindPlugin(Plugin, Protocol):
    """Decides how a pod is bound. The binding itself is always a guarded write of the scheduler's."""

    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success to have the guarded write made, Skip to leave the pod to the next Bind plugin, or a failure."""
        ...


@runtime_checkable
class PostBindPlugin(Plugin, Protocol):
    """Told when a pod is bound."""

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


if TYPE_CHECKING:
    Factory = Callable[[Mapping[str, Any], Handle], Plugin]
    """Makes a plugin of its arguments (`pluginConfig[].args`), or raises ConfigError with every problem."""
