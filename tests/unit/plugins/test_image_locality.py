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
