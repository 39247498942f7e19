"""The dashboard of the election and of hand-offs."""

from __future__ import annotations

from typing import Final

from tools.dashboards.parts import BAD, CHANGE, JOB, LEADS, STEP, YES_NO, quantiles, rates
from tools.grafana import Dashboard, Panel, Query

ELECTION: Final = Dashboard(
    uid="lockd-election",
    title="lockd: election and hand-offs",
    about="Who leads, how sure that is, and what each change of leader cost.",
    jobs="leader_election_master_status",
    marks=CHANGE,
    marks_step=STEP,
    rows=(
        (
            "Now",
            (
                Panel(
                    title="Leader",
                    kind="stat",
                    queries=(Query(f"leader_election_master_status{{{JOB}}} == 1", "{{instance}}"),),
                    states=((1, "leads", "green"),),
                    about="Empty: nobody leads.",
                    height=5,
                ),
                Panel(
                    title="Changes of leader in an hour",
                    kind="stat",
                    queries=(
                        Query(
                            f"max by (job, name) (max_over_time(lockd_record_leader_transitions{{{JOB}}}[1h]))"
                            f" - min by (job, name) (min_over_time(lockd_record_leader_transitions{{{JOB}}}[1h]))"
                        ),
                    ),
                    above=4,
                    width=4,
                    height=5,
                ),
                Panel(
                    title="Refused writes in a day",
                    kind="stat",
                    queries=(Query(f"max by (job) (increase(lockd_reported_fencing_rejections_total{{{JOB}}}[1d]))"),),
                    above=0.5,
                    about="Of leaders that had been deposed, as they told by their candidate keys.",
                    width=4,
                    height=5,
                ),
                Panel(
                    title="Replicas that answer",
                    kind="stat",
                    queries=(Query(f"count by (job) (leader_election_master_status{{{JOB}}})"),),
                    below=2,
                    width=4,
                    height=5,
                ),
                Panel(
                    title="Lease left",
                    kind="stat",
                    unit="s",
                    queries=(Query(f"lockd_lease_remaining_seconds{{{JOB}}}"),),
                    below=5,
                    width=4,
                    height=5,
                ),
            ),
        ),
        (
            "The lease",
            (
                Panel(
                    title="Who leads",
                    kind="state-timeline",
                    queries=(Query(f"leader_election_master_status{{{JOB}}}", "{{instance}}"),),
                    states=YES_NO,
                    width=24,
                    height=6,
                ),
                Panel(
                    title="Lease left",
                    unit="s",
                    queries=(Query(f"lockd_lease_remaining_seconds{{{JOB}}}", "{{instance}}"),),
                    below=5,
                    about="Until the leader's gate closes: the renew deadline right after a renewal.",
                ),
                Panel(
                    title="What a renewal takes",
                    unit="s",
                    queries=quantiles("lockd_lease_renew_duration_seconds", "name", of=(0.5, 0.9, 0.99)),
                    above=0.5,
                ),
                Panel(
                    title="Renewals that needed more than their first transaction",
                    unit="ops",
                    queries=rates("leader_election_slowpath_total", "instance, name"),
                ),
            ),
        ),
        (
            "Hand-offs",
            (
                Panel(
                    title="The takeover of who leads now, by phase",
                    kind="bargauge",
                    unit="s",
                    queries=(
                        Query(
                            "sum by (job, instance, phase, takeover)"
                            f" (lockd_failover_duration_seconds_sum{{{JOB}}}) {LEADS}",
                            "{{instance}} by {{takeover}}: {{phase}}",
                        ),
                    ),
                    about="Detection: from the old leader's last sign of life. First bind: from when it was possible.",
                    width=12,
                ),
                Panel(
                    title="Terms begun, by how",
                    queries=(
                        Query(
                            f"sum by (takeover) (increase(lockd_leader_transitions_total{{{JOB}}}[$__rate_interval]))",
                            "{{takeover}}",
                        ),
                    ),
                    stacked=True,
                    width=6,
                ),
                Panel(
                    title="Broken connections to a leader, by what came of them",
                    queries=(
                        Query(
                            f"sum by (outcome) (increase(lockd_presence_findings_total{{{JOB}}}[$__rate_interval]))",
                            "{{outcome}}",
                        ),
                    ),
                    stacked=True,
                    width=6,
                ),
                Panel(
                    title="Refused writes of deposed leaders",
                    queries=(
                        Query(f"max by (job) (lockd_reported_fencing_rejections_total{{{JOB}}})", "told by others"),
                        Query(f"max by (job) (lockd_fencing_rejections_total{{{JOB}}})", "seen by itself"),
                    ),
                    width=12,
                ),
                Panel(
                    title="Health checks that fail",
                    kind="state-timeline",
                    queries=(
                        Query(
                            f'1 - min by (instance, name) (kubernetes_healthcheck{{{JOB}, type="readyz"}})',
                            "{{instance}} {{name}}",
                        ),
                    ),
                    states=BAD,
                    about="As far as somebody asks /readyz.",
                    width=12,
                ),
            ),
        ),
    ),
)
