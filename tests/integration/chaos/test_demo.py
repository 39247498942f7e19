"""`chaosctl demo`, whole, with the real thing."""

import json
import subprocess
import sys

from chaos.spans import read_folder

LEASE, RETRY = 3.0, 0.5
"""What --fast means."""


def test_the_demonstration(tmp_path):
    folder = tmp_path / "demo"
    command = [sys.executable, "-m", "chaos", "demo", "--dir", str(folder), "-o", "json"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [handoff["fault"] for handoff in document["handoffs"]] == ["SIGTERM", "kill -9"]
    terminated, killed = document["handoffs"]
    assert terminated["to"] == killed["from"]
    assert terminated["released_ms"] <= terminated["held_ms"]
    assert killed["released_ms"] is None
    # Nobody waits for the lease, which lasts for at least another lease less a retry period.
    assert 0 < killed["held_ms"] < (LEASE - RETRY) * 1e3
    assert all(killed["phases_ms"][phase] is not None for phase in ("detection", "election", "warm_up", "first_bind"))
    assert all(document["placement"].values())
    assert document["audit"]["violations"] == []
    assert document["audit"]["pods"]["bound"] == len(document["placement"]) == 60
    assert {span.name for span in read_folder(folder / "trace")} >= {"chaos.fault", "leader_election.started_leading"}
    assert sorted(path.name for path in folder.iterdir()) == ["log", "trace"]
    assert result.stderr.splitlines()[-1] == f"logs and traces are left in {folder}"
    for step in ("bind pods", "hand-off by SIGTERM", "hand-off by kill -9", "judge etcd's history"):
        assert f"{step}: done" in result.stderr
