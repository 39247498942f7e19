from __future__ import annotations

import pytest

from lockd.ports import KeyValue
from replica.api.affinity import NodeAffinity
from replica.api.codec import decode
from replica.api.documents import write_yaml
from replica.api.drafts import to_manifest
from replica.api.manifests import ManifestError, parse_manifests
from replica.api.selectors import compile_nodes
from replica.ctl.imports.openb import NODE_COLUMNS, POD_COLUMNS, read_trace
from replica.ctl.imports.rows import MOST
from tests.harness.openb import pod_row, write_csv

NODES = ",".join(NODE_COLUMNS)
PODS = ",".join(POD_COLUMNS)


@pytest.fixture
def read(tmp_path):
    def run(nodes, pods, *, namespace="default"):
        for name, text in (("nodes.csv", nodes), ("pods.csv", pods)):
            content = text if isinstance(text, bytes) else text.encode()
            (tmp_path / name).write_bytes(content)
        return read_trace(tmp_path / "nodes.csv", tmp_path / "pods.csv", namespace=namespace)

    return run


def decoded(draft):
    value = draft.created(uid="u", at="2026-01-31T12:00:00Z")
    return decode(draft.kind, KeyValue(f"//{draft.namespace}/{draft.name}", value, 1, 1))


def test_what_nodes_offer_and_pods_ask_for(read):
    nodes = f"{NODES}\nn0,32000,262144,0,\nn1,96000,393216,8,V100M32\n"
    rows = [
        pod_row("none", 4000, 1024),
        pod_row("share", 4000, 1024, 1, 460, qos="BE"),
        pod_row("whole", 12000, 16384, 2, 1000, spec="V100M16|V100M32", phase="Running"),
    ]
    drafts = read(nodes, write_csv(rows), namespace="trace")
    n0, n1, none, share, whole = (decoded(draft) for draft in drafts)
    assert dict(n0.allocatable) == {"cpu": 32000, "memory": 262144 * 2**20, "pods": 110}
    assert dict(n1.allocatable) == {**dict(n0.allocatable), "cpu": 96000, "memory": 393216 * 2**20} | {
        "openb/gpu-milli": 8000,
        "nvidia.com/gpu": 8,
    }
    assert n1.labels["openb/gpu-model"] == "V100M32"
    assert "openb/gpu-model" not in n0.labels
    assert dict(none.spec.requests) == {"cpu": 4000, "memory": 2**30, "pods": 1}
    assert dict(share.spec.requests) == {"cpu": 4000, "memory": 2**30, "pods": 1, "openb/gpu-milli": 460}
    assert dict(whole.spec.requests) == {
        "cpu": 12000,
        "memory": 2**34,
        "pods": 1,
        "openb/gpu-milli": 2000,
        "nvidia.com/gpu": 2,
    }
    assert all(pod.pending and pod.namespace == "trace" and not pod.phase for pod in (none, share, whole))
    assert none.spec.affinity is share.spec.affinity is None
    assert isinstance(whole.spec.affinity.node_affinity, NodeAffinity)
    wants = compile_nodes(whole.spec.affinity.node_affinity.required)
    fits = {model: wants({"openb/gpu-model": model}, "n") for model in ("V100M16", "V100M32", "T4")}
    assert fits == {"V100M16": True, "V100M32": True, "T4": False}
    assert not wants({}, "n")
    assert share.labels == {"openb/qos": "BE"}


def test_what_is_made_is_a_manifest_like_any_other(read):
    drafts = read(f"{NODES}\nn1,96000,393216,8,T4\n", write_csv([pod_row("p", 1, 1, 1, 1000, spec="T4")]))
    for draft in drafts:
        stored = draft.created(uid="u", at="2026-01-31T12:00:00Z")
        kv = KeyValue(f"//{draft.namespace}/{draft.name}", stored, 1, 1)
        assert draft.updated(kv) is None

        (again,) = parse_manifests(write_yaml(to_manifest(draft.kind, kv)).encode(), "again")
        assert again.updated(kv) is None


GOOD_NODES = f"{NODES}\nn1,1,1,0,\n"
GOOD_PODS = f"{PODS}\np1,1,1,0,0,,LS\n"


@pytest.mark.parametrize(
    ("nodes", "pods", "told"),
    [
        (GOOD_NODES, f"{PODS}\np1,1x,1,0,0,,LS\n", ['pods.csv: line 2: cpu_milli: "1x" is no whole number: digits']),
        (GOOD_NODES, f"{PODS}\np1,-1,1,0,0,,LS\n", ['line 2: cpu_milli: "-1" is no whole number']),
        (GOOD_NODES, f"{PODS}\np1,1,1.5,0,0,,LS\n", ['line 2: memory_mib: "1.5" is no whole number']),
        (GOOD_NODES, f"{PODS}\np1,,1,0,0,,LS\n", ['line 2: cpu_milli: "" is no whole number']),
        (GOOD_NODES, f"{PODS}\np1,9999999999999,1,0,0,,LS\n", ["line 2: cpu_milli: ", "must be from 0 to 1000000"]),
        (GOOD_NODES, f"{PODS}\np1,1,1,1,1001,,LS\n", ['line 2: gpu_milli: "1001" must be from 1 to 1000']),
        (GOOD_NODES, f"{PODS}\np1,1,1,1,0,,LS\n", ['line 2: gpu_milli: "0" must be from 1 to 1000']),
        (GOOD_NODES, f"{PODS}\np1,1,1,1,500,T4||P100,LS\n", ['gpu_spec: "T4||P100" names no model between two |']),
        (GOOD_NODES, f"{PODS}\np1,1,1,1,500,a b,LS\n", ['line 2: gpu_spec: "a b" must be letters']),
        (GOOD_NODES, f"{PODS}\np1,1,1,0,0,,L S\n", ['line 2: qos: "L S" must be letters']),
        (GOOD_NODES, f"{PODS}\nP 1,1,1,0,0,,LS\n", ['line 2: name: "P 1" must be lower-case']),
        (GOOD_NODES, f"{PODS}\n,1,1,0,0,,LS\n", ['line 2: name: "" must not be empty']),
        (GOOD_NODES, f"{GOOD_PODS}p1,1,1,0,0,,LS\n", ['line 3: name: "p1" is the name in line 2 too']),
        (GOOD_NODES, f"{PODS}\np1,1,1,0,0\n", ["pods.csv: line 2: 5 columns, where the header has 7"]),
        (GOOD_NODES, "name,cpu_milli\np1,1\n", ["pods.csv: line 1: no column memory_mib, num_gpu, gpu_milli"]),
        (GOOD_NODES, "", ["pods.csv: line 1: no column name"]),
        (GOOD_NODES, f"{PODS}\n", ["pods.csv: no rows after the header"]),
        (GOOD_NODES, f'{PODS}\n"p1,1,1,0,0,,LS\n', ["pods.csv: line 2: unexpected end of data"]),
        (GOOD_NODES, b"%s\np\xff,1,1,0,0,,LS\n" % PODS.encode(), ["pods.csv: not UTF-8 at byte"]),
        (f"{NODES}\nn1,1,1,x,\n", GOOD_PODS, ['nodes.csv: line 2: gpu: "x" is no whole number']),
        (f"{NODES}\nn1,1,1,1,a/b\n", GOOD_PODS, ['nodes.csv: line 2: model: "a/b" must be']),
    ],
)  # fmt: skip
def test_a_bad_row_names_file_line_column_value_and_remedy(read, nodes, pods, told):
    with pytest.raises(ManifestError) as caught:
        read(nodes, pods)
    (problem,) = caught.value.problems
    assert all(part in problem for part in told), problem


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "nodes.csv").write_text(GOOD_NODES)
    with pytest.raises(ManifestError) as caught:
        read_trace(tmp_path / "nodes.csv", tmp_path / "none.csv", namespace="default")
    assert caught.value.problems == (f"{tmp_path}/none.csv: No such file or directory",)


def test_all_problems_of_both_files_are_told_and_the_many_are_counted(read):
    many = "".join(f"p{number},x,1,0,0,,LS\n" for number in range(MOST + 5))
    with pytest.raises(ManifestError) as caught:
        read(f"{NODES}\nn1,x,y,0,\n", f"{PODS}\n{many}")
    problems = caught.value.problems
    assert len(problems) == 2 + MOST + 1
    assert problems[-1].endswith("pods.csv: 5 more problems of this kind")


def test_the_order_of_columns_is_free_and_others_are_ignored(read):
    pods = "qos,extra,gpu_spec,gpu_milli,num_gpu,memory_mib,cpu_milli,name\nLS,?,,0,0,2,1000,p1\n\n"
    pod = decoded(read(GOOD_NODES, "\ufeff" + pods)[1])
    assert dict(pod.spec.requests) == {"cpu": 1000, "memory": 2 * 2**20, "pods": 1}
