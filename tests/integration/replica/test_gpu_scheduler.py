"""The worked example of docs/plugins.md: plugins of another package, in a profile of their own, in a real replica."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from replica.api.manifests import parse_manifests
from tests.harness import crew as harness
from tests.harness.replicas import STEADY

pytestmark = pytest.mark.etcd

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "gpu-scheduler"
MODEL = "gpu.example.com/model"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The example as an installer leaves it: its module on the path, and its entry points where Python looks."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / f"gpu_scheduler-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    path = os.pathsep.join([str(info.parent), str(EXAMPLE), str(ROOT), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))


def objects(*documents):
    return parse_manifests(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents}), "test")


def node(name, *, gpus=0, model=""):
    allocatable = {"cpu": "8", "memory": "16Gi", "pods": "10", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    metadata = {"name": name, "labels": {MODEL: model} if model else {}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def pod(name, *, gpus=0, model="", scheduler="gpu-scheduler"):
    requests = {"cpu": "100m", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "app", "resources": {"requests": requests}}
    metadata = {"name": name, "labels": {MODEL: model} if model else {}}
    spec = {"schedulerName": scheduler, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_the_example_of_the_documents(installed, etcd, prefix, tmp_path):
    with harness.crew(etcd.connection, prefix, tmp_path) as crew:
        crew.timing = STEADY
        crew.create(objects(node("plain"), node("a100", gpus=4, model="A100"), node("t4", gpus=8, model="T4")))
        replica = crew.start("r", f"--config={EXAMPLE / 'scheduler.yaml'}")
        crew.until_leads(replica)
        crew.create(objects(pod("no-gpu"), pod("picky", gpus=1, model="T4")))
        crew.until_bound(2)
        crew.create(objects(pod("any", gpus=2)))
        crew.until_bound(3)
        crew.create(objects(pod("none-such", gpus=1, model="H100")))
        crew.until_refused("none-such")
        crew.create(objects(node("h100", gpus=1, model="H100")))
        crew.until_bound(4)
        placement = {name.removeprefix("default/"): at for name, at in crew.placement().items()}
        assert placement["no-gpu"] == "plain"
        assert placement["picky"] == "t4"
        assert placement["any"] == "a100"  # 2 of 4 in use then, which is fuller than 3 of 8
        assert placement["none-such"] == "h100"
        assert not replica.said("plugin failed")


def test_bad_arguments_of_an_outside_plugin_are_named_by_their_path(installed, tmp_path):
    path = tmp_path / "scheduler.yaml"
    path.write_text((EXAMPLE / "scheduler.yaml").read_text().replace("prefer: Fullest", "prefer: Best"))
    refused = subprocess.run(
        [sys.executable, "-m", "replica", "run", "--endpoints=127.0.0.1:1", f"--config={path}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    assert refused.returncode == 2
    assert 'profiles[1].pluginConfig[1].args.prefer: "Best" must be one of Emptiest, Fullest' in refused.stderr
