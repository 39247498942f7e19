"""The dashboard of etcd and of what is watched there."""

from __future__ import annotations

from typing import Final

from tools.dashboards.parts import BAD, CHANGE, JOB, STEP, quantiles, rates
from tools.grafana import Dashboard, Panel, Query

ETCD: Final = Dashboard(
    uid="lockd-etcd",
    title="lockd: etcd and watches",
    about="etcd as those who use it see it, what their caches make of it, and what it says of itself, if scraped.",
    jobs="etcd_client_request_duration_seconds_count",
    marks=CHANGE,
    marks_step=STEP,
    rows=(
        (
            "As its clients see it",
            (
                Panel(
                    title="Doesn't serve",
                    kind="state-timeline",
                    queries=(Query(f"lockd_etcd_degraded{{{JOB}}}", "{{instance}} {{part}}"),),
                    states=BAD,
                    width=24,
                    height=6,
                ),
                Panel(
                    title="Calls, by outcome",
                    unit="ops",
                    queries=rates("etcd_client_request_duration_seconds_count", "outcome"),
                    stacked=True,
                ),
                Panel(
                    title="What a call takes, p99",
                    unit="s",
                    queries=quantiles("etcd_client_request_duration_seconds", "operation", of=(0.99,)),
                ),
                Panel(
                    title="Calls that failed, by operation",
                    unit="ops",
                    queries=rates(
                        "etcd_client_request_duration_seconds_count",
                        "operation, outcome",
                        matchers='outcome!~"ok|cancelled"',
                    ),
                ),
            ),
        ),
        (
            "Watches and caches",
            (
                Panel(
                    title="Watch lag",
                    unit="s",
                    queries=(Query(f"lockd_watch_lag_seconds{{{JOB}}}", "{{instance}}"),),
                    above=10,
                    about="For how long the caches have lacked a change that their process knows of.",
                ),
                Panel(
                    title="Revisions behind the foremost replica",
                    queries=(
                        Query(
                            f"max by (job) (informer_store_resource_version{{{JOB}}}) - on (job) group_right"
                            f" min by (job, instance) (informer_store_resource_version{{{JOB}}})",
                            "{{instance}}",
                        ),
                    ),
                ),
                Panel(
                    title="Lists of all that is cached",
                    queries=(
                        Query(
                            f"sum by (instance) (increase(lockd_watch_lists_total{{{JOB}}}[$__rate_interval]))",
                            "{{instance}}",
                        ),
                    ),
                    about="One at the start, then one after each compaction and each long absence.",
                ),
                Panel(
                    title="Keys whose changes wait",
                    queries=(
                        Query(
                            f"sum by (instance, resource) (informer_queued_items{{{JOB}}})", "{{instance}} {{resource}}"
                        ),
                    ),
                ),
                Panel(
                    title="From the queue to the listeners, p99",
                    unit="s",
                    queries=quantiles("informer_processing_latency_seconds", "resource", of=(0.99,)),
                ),
                Panel(
                    title="Telemetry lost",
                    unit="ops",
                    queries=rates("lockd_telemetry_lost_total", "pipeline"),
                ),
            ),
        ),
        (
            "etcd itself",
            (
                Panel(
                    title="Members that know a raft leader",
                    kind="state-timeline",
                    queries=(Query("etcd_server_has_leader", "{{instance}}"),),
                    states=((0, "no", "red"), (1, "yes", "green")),
                    height=6,
                ),
                Panel(
                    title="Changes of the raft leader",
                    queries=(
                        Query("increase(etcd_server_leader_changes_seen_total[$__rate_interval])", "{{instance}}"),
                    ),
                    height=6,
                ),
                Panel(
                    title="Database, of its quota",
                    unit="percentunit",
                    queries=(
                        Query("etcd_mvcc_db_total_size_in_bytes / etcd_server_quota_backend_bytes", "{{instance}}"),
                        Query(
                            "etcd_mvcc_db_total_size_in_use_in_bytes / etcd_server_quota_backend_bytes",
                            "{{instance}} in use",
                        ),
                    ),
                    above=0.8,
                    height=6,
                ),
                Panel(
                    title="Disk: log to disk, p99",
                    unit="s",
                    queries=quantiles("etcd_disk_wal_fsync_duration_seconds", "instance", select="", of=(0.99,)),
                    above=0.01,
                ),
                Panel(
                    title="Disk: database commit, p99",
                    unit="s",
                    queries=quantiles("etcd_disk_backend_commit_duration_seconds", "instance", select="", of=(0.99,)),
                    above=0.025,
                ),
                Panel(
                    title="Round trip between members, p99",
                    unit="s",
                    queries=quantiles(
                        "etcd_network_peer_round_trip_time_seconds", "instance, To", select="", of=(0.99,)
                    ),
                ),
                Panel(
                    title="Proposals that wait",
                    queries=(Query("etcd_server_proposals_pending", "{{instance}}"),),
                ),
                Panel(
                    title="Proposals that failed",
                    unit="ops",
                    queries=(Query("rate(etcd_server_proposals_failed_total[$__rate_interval])", "{{instance}}"),),
                ),
                Panel(
                    title="Slow applies",
                    unit="ops",
                    queries=(Query("rate(etcd_server_slow_apply_total[$__rate_interval])", "{{instance}}"),),
                ),
            ),
        ),
    ),
)
