from __future__ import annotations

import pytest

from replica.framework.cycle_state import CycleState
from replica.plugins.image_locality import ImageLocality, images_of
from tests.harness.framework import runtime_of, table_of
from tests.harness.objects import node, pod

PLUGIN = ImageLocality()
MIB = 1 << 20


def asks(*images, init=()):
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return pod(containers=containers, initContainers=[{"name": f"i{n}", "image": each} for n, each in enumerate(init)])


def scores(ask, *images):
    """Of nodes that have these images."""
    view = table_of([node(f"n{number}", images=each) for number, each in enumerate(images)]).snapshot()
    found = PLUGIN.score(CycleState(), ask, view)
    column = [0] * view.size if found is None else found.tolist()
    assert column == [PLUGIN.score_row(CycleState(), ask, view, row) for row in range(view.size)]
    return column


@pytest.mark.parametrize(
    ("size", "score"),
    [
        (0, 0),
        (22 * MIB, 0),
        (23 * MIB, 0),
        (23 * MIB + 977 * MIB // 100, 0),
        (23 * MIB + 977 * MIB // 100 + 1, 1),
        (500 * MIB, 48),
        (1000 * MIB - 1, 99),
        (1000 * MIB, 100),
        (9000 * MIB, 100),
    ],
)
def test_sizes_count_between_two_bounds(size, score):
    assert scores(asks("a:1"), {"a:1": size}) == [score]


def test_an_image_that_few_have_counts_little():
    assert scores(asks("a:1"), {"a:1": 1000 * MIB}, {}) == [48, 0]
    assert scores(asks("a:1"), {"a:1": 1000 * MIB}, {"a:1": 1000 * MIB}) == [100, 100]
    assert scores(asks("a:1"), {"a:1": 1000 * MIB}, *[{}] * 9) == [7, *[0] * 9]


def test_each_container_raises_the_upper_bound():
    assert scores(asks("a:1", "b:1"), {"a:1": 1000 * MIB}) == [49]
    assert scores(asks("a:1", "b:1"), {"a:1": 1000 * MIB, "b:1": 1000 * MIB}) == [100]
    assert scores(asks("a:1", init=("b:1",)), {"b:1": 1000 * MIB}) == [49]
    assert scores(asks("a:1", "a:1"), {"a:1": 500 * MIB}) == [49]


def test_sizes_are_each_nodes_own():
    assert scores(asks("a:1"), {"a:1": 1000 * MIB}, {"a:1": 500 * MIB}) == [100, 48]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("reg.io/team/app", "reg.io/team/app:latest"),
        ("reg.io:5000/app", "reg.io:5000/app:latest"),
        ("reg.io:5000/app:2", "reg.io:5000/app:2"),
        ("app@sha256:ab", "app@sha256:ab"),
        ("", ":latest"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image, name):
    assert images_of(asks(image).spec) == (name,)


def test_where_nobody_tells_of_images_nothing_is_asked():
    view = table_of([node("a")]).snapshot()
    assert PLUGIN.score(CycleState(), asks("a:1"), view) is None
    assert PLUGIN.across(asks("a:1"), view) == ()


def test_the_spread_is_that_of_all_nodes_also_when_one_is_asked_about_again():
    table = table_of([node("a", images={"a:1": 1000 * MIB}), node("b"), node("c", images={"b:1": 1})])
    view = table.snapshot()
    assert PLUGIN.score(CycleState(), asks("a:1"), view.take([0])).tolist() == [31]
    before = PLUGIN.across(asks("a:1"), view)
    table.set_node(node("b", images={"a:1": 1000 * MIB}))
    assert PLUGIN.across(asks("a:1"), table.snapshot()) != before
    table.remove_node("c")
    view = table.snapshot()
    assert PLUGIN.score(CycleState(), asks("a:1"), view)[:2].tolist() == [100, 100]
    table.set_node(node("a"))
    assert PLUGIN.score(CycleState(), asks("a:1"), table.snapshot())[:2].tolist() == [0, 48]


def test_pods_of_a_kind_see_a_spread_that_changed_elsewhere():
    # `a` is the better one until so many nodes have come that its image counts for less than the room on `b`.
    allocatable = {"cpu": "10", "memory": "10Gi", "pods": 110}
    used = pod(requests={"cpu": "1", "memory": "1Gi"}, uid="used")
    table = table_of(
        [node("a", allocatable=allocatable, images={"app:latest": 1000 * MIB}), node("b", allocatable=allocatable)],
        [("a", used)],
    )
    runtime = runtime_of()

    def place():
        return runtime.place(CycleState(), pod(requests={"cpu": "1", "memory": "1Gi"}), table.snapshot()).node_name

    assert place() == "a"
    for number in range(30):
        table.set_node(node(f"n{number}", unschedulable=True))
    assert place() == "b"


def test_pods_share_whatever_images_they_have_that_no_node_has():
    table = table_of([node("a", images={"x:1": 1000 * MIB}), node("b")])
    asked = []

    class Counts:
        name = "Counts"

        def signature(self, _pod):
            return ()

        def score(self, _state, _pod, nodes):
            asked.append(nodes.size)

    runtime = runtime_of(Counts())
    place = lambda *images: runtime.place(CycleState(), asks(*images), table.snapshot()).node_name  # noqa: E731
    for image in ("p:1", "q:1", "p:1"):
        place(image)
    assert asked == [2]
    assert place("x:1") == "a"
    # Then others' images come to `b`: what was found for pods without any is not theirs any more, and no one else's.
    table.set_node(node("b", images={"p:1": 1000 * MIB, "y:1": 1000 * MIB}))
    assert [place(image) for image in ("p:1", "y:1", "x:1")] == ["b", "b", "a"]


def test_what_comes_to_a_node_counts_for_those_alone_whose_image_it_is():
    table = table_of([*(node(f"n{number}") for number in range(16)), node("z", images={"x:1": 1000 * MIB})])
    runtime = runtime_of()
    place = lambda image: runtime.place(CycleState(), asks(image), table.snapshot())  # noqa: E731
    without = place("p:1").score
    table.set_node(node("n1", images={"p:1": 1000 * MIB}))
    assert place("q:1").score == without
    assert place("p:1").node_name == "n1"
    assert place("p:1").score > without


def test_a_share_of_a_pod_s_images_counts_as_that():
    table = table_of([node("a", images={"x:1": 1000 * MIB}), *(node(f"n{number}") for number in range(2))])
    runtime = runtime_of()

    def score(*images):
        """Of pods that ask for as much, however many containers share it."""
        share = {"requests": {"cpu": f"{200 // len(images)}m", "memory": f"{64 // len(images)}Mi"}}
        ask = pod(containers=[{"name": image[0], "image": image, "resources": share} for image in images])
        return runtime.place(CycleState(), ask, table.snapshot()).score

    assert score("x:1") > score("x:1", "q:1")
