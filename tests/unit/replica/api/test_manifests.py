from __future__ import annotations

import json

import pytest

from replica.api.manifests import ManifestError, parse_manifests, read_manifests

GOOD = """
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: web}}
spec:
  containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]
"""


def problems(document, **options) -> tuple[str, ...]:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(ManifestError) as caught:
        parse_manifests(text.encode(), "f.yaml", **options)
    return caught.value.problems


def pod(spec=None, **metadata):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", **metadata},
        "spec": {"containers": [{"name": "c"}], **(spec or {})},
    }


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def spread(*constraints):
    usual = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
    return pod({"topologySpreadConstraints": [{**usual, **each} for each in constraints]})


def test_selectors_that_an_api_server_has_merged_match_keys_into_are_fine():
    merged = {"matchLabelKeys": ["v"], "labelSelector": {"matchExpressions": [{"key": "v", "operator": "Exists"}]}}
    other = {"whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}, "matchLabelKeys": ["v"]}
    assert len(parse_manifests(json.dumps(spread(merged, other)).encode(), "f.yaml")) == 1


def test_a_bad_quantity_names_document_path_and_value():
    found = problems(GOOD + "---" + GOOD.replace("name: a", "name: b").replace("100m", "1x"))
    assert len(found) == 1
    assert found[0].startswith('f.yaml: document 2: spec.containers[0].resources.requests.cpu: "1x" is no quantity')


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("a: [", "f.yaml: line "),
        ("just text", "an object with apiVersion and kind is wanted"),
        ({"apiVersion": "v1", "metadata": {"name": "a"}}, "kind: is required"),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment"},
            'kind: "Deployment" is not a kind that is known here: Event,',
        ),
        ({"kind": "Pod"}, "apiVersion: is required"),
        ({"apiVersion": "v2", "kind": "Pod"}, 'apiVersion: "v2" is not v1'),
        ({"apiVersion": "v1", "kind": "Node"}, "metadata: is required"),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {}}, "metadata.name: is required"),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ""}}, 'metadata.name: "" must not be empty'),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a/b"}}, 'metadata.name: "a/b" must be lower-case'),
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}, 'metadata.name: "a.b"'),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"generateName": "n-"}}, "metadata.generateName"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, "spec: is required"),
        (pod(namespace="A"), 'metadata.namespace: "A"'),
        (pod(labels={"a b": "c"}), "metadata.labels.a b: "),
        (pod(labels={"a": "b c"}), 'metadata.labels.a: "b c"'),
        (pod(labels={"a": 1}), "metadata.labels.a: 1 must be a text"),
        (pod(labels=[]), "metadata.labels: [] must be an object"),
        (pod(annotations={"a": True}), "metadata.annotations.a: true"),
        (pod(creationTimestamp="yesterday"), "metadata.creationTimestamp"),
        (pod({"containers": []}), "spec.containers: [] must hold at least one container"),
        (pod({"containers": None}), "spec.containers: must hold"),
        (pod({"containers": {}}), "spec.containers: {} must be a list"),
        (pod({"containers": [7]}), "spec.containers[0]: 7 must be an object"),
        (pod({"containers": [{}]}), "spec.containers[0].name: is required"),
        (pod({"initContainers": [{"name": "c"}]}), 'spec.initContainers[0].name: "c" is another container\'s'),
        (
            pod({"containers": [{"name": "c", "resources": {"limits": {"cpu": True}}}]}),
            "limits.cpu: true must be a quantity",
        ),
        (
            pod({"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]}),
            'requests.cpu: "2" is more than its limit',
        ),
        (pod({"containers": [{"name": "c", "resources": {"requests": {"x/gpu": "0.5"}}}]}), "must be a whole number"),
        (pod({"containers": [{"name": "c", "resources": {"requests": {"memory": "-1"}}}]}), "is negative"),
        (
            pod({"containers": [{"name": "c", "ports": [{"containerPort": 70000}]}]}),
            "containerPort: 70000 must be from 1",
        ),
        (pod({"containers": [{"name": "c", "ports": [{"containerPort": 1, "protocol": "X"}]}]}), "must be one of TCP"),
        (pod({"priority": 2**31}), "spec.priority: 2147483648 must be from"),
        (pod({"priority": 1.5}), "spec.priority: 1.5 must be a whole number"),
        (pod({"hostNetwork": "yes"}), 'spec.hostNetwork: "yes" must be true or false'),
        (pod({"nodeSelector": {"a": 1}}), "spec.nodeSelector.a: 1"),
        (pod({"nodeName": "A"}), 'spec.nodeName: "A"'),
        (pod({"preemptionPolicy": "Maybe"}), "spec.preemptionPolicy"),
        (pod({"schedulingGates": [{}]}), "spec.schedulingGates[0].name: is required"),
        (pod({"tolerations": [{"effect": "Never"}]}), "spec.tolerations[0].effect"),
        (pod({"tolerations": [{"value": "x"}]}), "spec.tolerations[0].key: is required unless"),
        (pod({"tolerations": [{"operator": "Exists", "value": "x"}]}), "spec.tolerations[0].value"),
        (
            pod(
                {
                    "topologySpreadConstraints": [
                        {"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
                    ]
                }
            ),
            "topologySpreadConstraints[0].maxSkew: 0",
        ),
        (spread({"matchLabelKeys": ["v"]}), '[0].matchLabelKeys: ["v"] needs a labelSelector'),
        (
            spread({"matchLabelKeys": ["u", "v"], "labelSelector": {"matchLabels": {"v": "1"}}}),
            '[0].matchLabelKeys[1]: "v" is in labelSelector.matchLabels already',
        ),
        (spread({"matchLabelKeys": "v", "labelSelector": {}}), '[0].matchLabelKeys: "v" must be a list'),
        (spread({"matchLabelKeys": [{}], "labelSelector": {"matchLabels": {}}}), "[0].matchLabelKeys[0]: {}"),
        (spread({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}), "[0].minDomains: 2 is for"),
        (spread({}, {}), '[1].topologyKey: "z" has another constraint with DoNotSchedule'),
        (spread({"topologyKey": {}}), "[0].topologyKey: {} must be a text"),
        *(
            (
                pod({"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "z", field: ["v"]}]}}}),
                f'[0].{field}: ["v"] needs a labelSelector',
            )
            for field in ("matchLabelKeys", "mismatchLabelKeys")
        ),
        (
            pod({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}),
            "[0].topologyKey: is required",
        ),
        (
            pod(
                {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]
                            }
                        }
                    }
                }
            ),
            'operator "Near" is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt',
        ),
        (
            pod(
                {
                    "affinity": {
                        "nodeAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101, "preference": {}}]
                        }
                    }
                }
            ),
            "[0].weight: 101 must be from 1 to 100",
        ),
        (
            pod(
                {
                    "affinity": {
                        "podAntiAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {"podAffinityTerm": {"topologyKey": "z"}}
                            ]
                        }
                    }
                }
            ),
            "[0].weight: is required",
        ),
        (
            pod(
                {
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]}
                                ]
                            }
                        }
                    }
                }
            ),
            'matchFields[0].key: "metadata.uid" must be metadata.name',
        ),
        (pod({"resourceClaims": [7]}), "spec.resourceClaims[0]: 7 must be an object"),
        (pod({"terminationGracePeriodSeconds": -1}), "terminationGracePeriodSeconds"),
        ({**pod(), "status": {"phase": "Done"}}, "status.phase"),
        ({**pod(), "status": 7}, "status: 7 must be an object"),
        ({**pod(), "x": "\ud800"}, "can't be stored as UTF-8"),
        ({**pod(), "x": "y" * 1_500_000}, "bytes, and etcd takes"),
        (
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "four"}}},
            'status.allocatable.cpu: "four"',
        ),
        (
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "a"}]}},
            "spec.taints[0].effect: is required",
        ),
        (
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}},
            "value: is required",
        ),
        (
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "p"},
                "value": 2 * 10**9,
            },
            "reserved",
        ),
        (
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "system-x"},
                "value": 1,
            },
            "reserved",
        ),
        (
            {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}},
            "spec.minMember: is required",
        ),
        (
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": "half"},
            },
            'spec.minAvailable: "half" is no number',
        ),
        (
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": 1, "maxUnavailable": 1},
            },
            "can't be given together",
        ),
        ({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "x"}, "regarding: is required"),
    ],
)
def test_bad_values(document, expected):
    found = problems(document)
    assert len(found) == 1
    assert expected in found[0]
    assert found[0].startswith("f.yaml: ")
    assert "\n" not in found[0]


def test_every_problem_is_told_at_once():
    found = problems(pod({"priority": "x", "hostNetwork": 1, "containers": [{"name": "C"}]}, labels={"a": 1}))
    assert len(found) == 4


def test_lists_in_lists():
    inner = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": pod()["spec"]}]}
    found = parse_manifests(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod(), inner]}).encode(), "f")
    assert [each.name for each in found] == ["a", "p"]
    assert found[1].source == "f: document 1: items[1].items[0]"
    broken = problems({"apiVersion": "v1", "kind": "List", "items": [pod(), pod({"priority": "x"}, name="b")]})
    assert broken == ('f.yaml: document 1: items[1].spec.priority: "x" must be a whole number',)


def test_one_object_given_twice():
    assert problems(GOOD + "---" + GOOD) == ("f.yaml: document 2: pod/a is also in f.yaml: document 1",)


def test_namespaces():
    (found,) = parse_manifests(GOOD.encode(), "f")
    assert found.namespace == found.document["metadata"]["namespace"] == "default"
    (found,) = parse_manifests(GOOD.encode(), "f", namespace="shop")
    assert found.namespace == "shop"
    (found,) = parse_manifests(json.dumps(pod(namespace="shop")).encode(), "f")
    assert found.namespace == "shop"
    assert problems(pod(namespace="shop"), namespace="default") == (
        'f.yaml: document 1: metadata.namespace: "shop" is not "default", as --namespace says',
    )


def test_unused_fields_are_kept():
    document = pod({"containers": [{"name": "c", "livenessProbe": {"x": [1, None, 2.5]}}], "dnsPolicy": "Default"})
    (found,) = parse_manifests(json.dumps({**document, "extra": {"a": None}}).encode(), "f")
    assert found.document["extra"] == {"a": None}
    assert found.document["spec"] == document["spec"]


def test_nulls_of_a_dry_run_are_no_problem():
    document = pod(
        {"affinity": None, "containers": [{"name": "c", "resources": {}}]}, creationTimestamp=None, labels=None
    )
    assert parse_manifests(json.dumps({**document, "status": {}}).encode(), "f")


def test_files_and_folders(tmp_path):
    (tmp_path / "b.yml").write_text(GOOD)
    (tmp_path / "a.json").write_text(json.dumps(pod(name="j")))
    (tmp_path / "notes.txt").write_text("not for us: [")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yaml").write_text(GOOD.replace("name: a", "name: deep"))

    def names(*files, **options):
        return [each.name for each in read_manifests(files, stdin=GOOD.encode, **options)]

    assert names(str(tmp_path)) == ["j", "a"]
    assert names(str(tmp_path), recursive=True) == ["j", "a", "deep"]
    assert names("-") == ["a"]
    assert names(str(tmp_path / "b.yml"), str(tmp_path / "a.json")) == ["a", "j"]


def test_files_that_do_not_work(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe4")
    files = [str(tmp_path / "gone.yaml"), str(tmp_path / "empty"), str(tmp_path / "latin.yaml")]
    with pytest.raises(ManifestError) as caught:
        read_manifests(files, stdin=bytes)
    gone, empty, latin = caught.value.problems
    assert gone.endswith("gone.yaml: No such file or directory")
    assert "no .yaml, .yml, .json file" in empty
    assert "not UTF-8 at byte 3" in latin
    with pytest.raises(ManifestError, match="-: no objects found"):
        read_manifests(["-"], stdin=lambda: b"# nothing\n")
