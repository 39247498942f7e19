"""A pod's topology spread constraints, compiled, with the tallies they are judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replica.api.podspec import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from replica.cache.cohort import in_namespace, owned
from replica.cache.tally import Tally
from replica.plugins.node_terms import wish_of
from replica.plugins.pod_terms import Selected
from replica.plugins.taint_toleration import untolerated

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from replica.api.affinity import SpreadConstraint
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.arrays import Amounts, Flags
    from replica.cache.census import Census
    from replica.cache.cohort import Traits
    from replica.framework.outlook import Outlook

HONOR: Final = "Honor"
HOSTNAME: Final = "kubernetes.io/hostname"
"""The topology key by which each node is judged by its own pods."""


class Constraint:
    """One constraint of a pod.

    Attributes:
        given: As in the manifest, or by default.
        own: 1 if the pod itself is one of those counted, else 0.
        tally: The pods counted, by the value of the topology key.
        scope: Where in the census they are.
    """

    __slots__ = ("given", "own", "scope", "tally")

    def __init__(self, given: SpreadConstraint, *, own: bool, scope: Hashable, tally: Tally) -> None:
        self.given = given
        self.own = int(own)
        self.scope = scope
        self.tally = tally

    def allowed(self, more: Mapping[int, int]) -> Flags:
        """bool[values + 1]: the domains that can take the pod.

        Args:
            more: Domain -> pods that would come there (or go, below 0), for a dry run.
        """
        counts = self.tally.counts
        if more:
            counts = counts.copy()
            for number, amount in more.items():
                counts[number] += amount
        found: Flags = counts <= self._most(counts)
        found[0] = False
        return found

    @property
    def most(self) -> int:
        """So many pods may be in a domain that takes the pod."""
        tally, domains = self.tally, self.tally.domains
        if len(tally.amounts) < domains.alive:  # some have no row with a pod, so the fewest are none
            return self.given.max_skew - self.own
        return self._most(tally.counts)

    def allowed_by_domain(self) -> list[bool]:
        """What `allowed` says if nothing changes: sooner, where domains are few."""
        counts, domains = self.tally.counts.tolist(), self.tally.domains
        usual = domains.alive == domains.values >= max(1, self.given.min_domains or 1)
        most = self.given.max_skew - self.own + min(counts[1:]) if usual else self.most
        return [False, *(count <= most for count in counts[1:])]

    def _most(self, counts: Amounts) -> int:
        return self.given.max_skew - self.own + self._lowest(counts)

    def _lowest(self, counts: Amounts) -> int:
        """The pods in the domain that has fewest; 0 where there are fewer domains than wanted."""
        domains = self.tally.domains
        if domains.alive < max(1, self.given.min_domains or 1):
            return 0
        there = counts[1:] if domains.alive == domains.values else counts[domains.present]
        return int(there.min())


class SpreadPlan:
    """The constraints of pods that are alike in them.

    Args:
        by_owner: The pods of the same owner are counted, not those of a selector.

    Attributes:
        required: Those of DoNotSchedule.
        preferred: Those of ScheduleAnyway.
        alone: Of these, those by which each node is judged by its own pods.
        wide: The others of these.
        every_key: Nodes without one of the preferred constraints' keys get nothing.
        told: What wishes come to, and as of which versions of their domains; none before it was asked for.
    """

    __slots__ = ("alone", "every_key", "preferred", "required", "told", "wide")

    def __init__(
        self, census: Census, pod: Pod, given: Sequence[SpreadConstraint], *, by_owner: bool, every_key: bool
    ) -> None:
        self.every_key = every_key
        self.told: tuple[tuple[int, ...], Outlook | None] | None = None
        make = _Maker(census, pod, by_owner=by_owner).make
        required = [each for each in given if each.when_unsatisfiable == DO_NOT_SCHEDULE]
        preferred = [each for each in given if each.when_unsatisfiable == SCHEDULE_ANYWAY]
        keys = frozenset(each.topology_key for each in required)
        self.required = tuple(make(each, keys) for each in required)
        keys = frozenset(each.topology_key for each in preferred) if every_key else frozenset()
        self.preferred = tuple(make(each, keys) for each in preferred)
        self.alone = tuple(each for each in self.preferred if each.given.topology_key == HOSTNAME)
        self.wide = tuple(each for each in self.preferred if each.given.topology_key != HOSTNAME)

    def counters(self) -> Iterable[tuple[Hashable, Tally]]:
        return ((each.scope, each.tally) for each in (*self.required, *self.preferred))

    def tallies(self) -> Iterable[Tally]:
        return (each.tally for each in (*self.required, *self.preferred))


class _Maker:
    def __init__(self, census: Census, pod: Pod, *, by_owner: bool) -> None:
        self._census = census
        self._pod = pod
        self._by_owner = by_owner

    def make(self, given: SpreadConstraint, keys: frozenset[str]) -> Constraint:
        pod = self._pod
        weigh, own, scope = self._counted(given)
        eligible, by = eligibility(given, pod, keys)
        tally = Tally(self._census.domains(given.topology_key, eligible, by), weigh)
        return Constraint(given, own=own, scope=scope, tally=tally)

    def _counted(self, given: SpreadConstraint) -> tuple[Callable[[Traits], int], bool, Hashable]:
        """What a pod counts, whether the pod itself does, and where in the census to look. No pod that ends counts."""
        pod = self._pod
        namespace, owner = pod.namespace, pod.owner
        if self._by_owner:
            return (
                lambda other: int(other.owner == owner and other.namespace == namespace and not other.deleting),
                True,
                owned(namespace, owner),
            )
        selected = selected_by(given, pod)

        def weigh(other: Traits) -> int:
            return int(other.namespace == namespace and not other.deleting and selected.holds(other.labels))

        scope = in_namespace(namespace) if given.label_selector is None else selected.scope(namespace)
        return weigh, selected.holds(pod.labels), scope


def selected_by(given: SpreadConstraint, pod: Traits) -> Selected:
    """The pods that a pod's constraint means."""
    return Selected(given.label_selector, pod.labels, match=given.match_label_keys)


def eligibility(
    given: SpreadConstraint, pod: Pod, keys: frozenset[str]
) -> tuple[Callable[[Node], bool] | None, Hashable]:
    """The nodes whose pods a constraint counts, and what that depends on; None for all that have its key.

    Args:
        keys: The labels that a node must have.
    """
    others = tuple(sorted(keys - {given.topology_key}))
    required = wish_of(pod.spec).required
    affinity = None if given.node_affinity_policy != HONOR or required.anything else required
    tolerations = pod.spec.tolerations if given.node_taints_policy == HONOR else None
    if not others and affinity is None and tolerations is None:
        return None, None

    def eligible(node: Node) -> bool:
        return (
            all(key in node.labels for key in others)
            and (affinity is None or affinity.holds(node))
            and (tolerations is None or untolerated(node.taints, tolerations) is None)
        )

    return eligible, (others, affinity, tolerations)
