"""The dashboard of the scheduler."""

from __future__ import annotations

from typing import Final

from tools.dashboards.parts import CHANGE, JOB, LEADS, STEP, WINDOW, quantiles, rates
from tools.grafana import Dashboard, Panel, Query

SCHEDULER: Final = Dashboard(
    uid="lockd-scheduler",
    title="lockd: scheduler",
    about="What waits, what is bound, and where the time goes.",
    jobs="scheduler_pending_pods",
    marks=CHANGE,
    marks_step=STEP,
    rows=(
        (
            "Pods",
            (
                Panel(
                    title="Attempts, by result",
                    unit="ops",
                    queries=rates("scheduler_schedule_attempts_total", "result"),
                    stacked=True,
                ),
                Panel(
                    title="Pods that wait, by queue",
                    queries=(
                        Query(f"sum by (job, instance, queue) (scheduler_pending_pods{{{JOB}}}) {LEADS}", "{{queue}}"),
                    ),
                    stacked=True,
                    about="The leader's. Standbys keep the same queues.",
                ),
                Panel(
                    title="From a pod's first sight to its bind",
                    unit="s",
                    queries=quantiles("scheduler_pod_scheduling_sli_duration_seconds"),
                ),
                Panel(
                    title="Pods refused, by plugin",
                    queries=(
                        Query(
                            f"sum by (job, instance, plugin) (scheduler_unschedulable_pods{{{JOB}}}) {LEADS}",
                            "{{plugin}}",
                        ),
                    ),
                ),
                Panel(
                    title="Pods that came into a queue, by event",
                    unit="ops",
                    queries=rates("scheduler_queue_incoming_pods_total", "queue, event"),
                    stacked=True,
                ),
                Panel(
                    title="What the cache holds",
                    queries=(
                        Query(f"sum by (job, instance, type) (scheduler_cache_size{{{JOB}}}) {LEADS}", "{{type}}"),
                    ),
                ),
            ),
        ),
        (
            "Time",
            (
                Panel(
                    title="An attempt",
                    unit="s",
                    queries=quantiles("scheduler_scheduling_attempt_duration_seconds", "result"),
                ),
                Panel(
                    title="The choice of a node",
                    unit="s",
                    queries=quantiles("scheduler_scheduling_algorithm_duration_seconds"),
                ),
                Panel(
                    title="Extension points, p99",
                    unit="s",
                    queries=quantiles(
                        "scheduler_framework_extension_point_duration_seconds", "extension_point", of=(0.99,)
                    ),
                    about="Of one cycle in ten.",
                ),
                Panel(
                    title="Plugins that take most",
                    unit="percentunit",
                    queries=(
                        Query(
                            "topk(8, sum by (plugin, extension_point)"
                            f" (rate(scheduler_plugin_execution_duration_seconds_sum{{{JOB}}}{WINDOW})))",
                            "{{plugin}} {{extension_point}}",
                        ),
                    ),
                    about="Seconds a second, of one cycle in ten.",
                ),
                Panel(
                    title="Waiting in Permit",
                    unit="s",
                    queries=quantiles("scheduler_permit_wait_duration_seconds", "result"),
                ),
                Panel(
                    title="Queueing hints, by answer",
                    unit="ops",
                    queries=rates("scheduler_queueing_hint_execution_duration_seconds_count", "hint"),
                ),
            ),
        ),
        (
            "Binds and preemption",
            (
                Panel(
                    title="Guarded writes, by what they are",
                    unit="s",
                    queries=quantiles("scheduler_async_api_call_execution_duration_seconds", "call_type"),
                ),
                Panel(
                    title="Pods in a transaction of binds",
                    queries=(
                        Query(
                            f"sum by (job) (rate(lockd_bind_batch_pods_sum{{{JOB}}}{WINDOW}))"
                            f" / sum by (job) (rate(lockd_bind_batch_pods_count{{{JOB}}}{WINDOW}))",
                            "on average",
                        ),
                    ),
                ),
                Panel(
                    title="Preemption",
                    unit="ops",
                    queries=(
                        Query(f"sum by (job) (rate(scheduler_preemption_attempts_total{{{JOB}}}{WINDOW}))", "attempts"),
                        Query(f"sum by (job) (rate(scheduler_preemption_victims_sum{{{JOB}}}{WINDOW}))", "victims"),
                    ),
                ),
            ),
        ),
        (
            "The process",
            (
                Panel(
                    title="Processor time",
                    unit="percentunit",
                    queries=(Query(f"rate(process_cpu_seconds_total{{{JOB}}}{WINDOW})", "{{instance}}"),),
                    above=0.9,
                    about="Of one core: the leader has one to use, never more.",
                ),
                Panel(
                    title="Memory",
                    unit="bytes",
                    queries=(Query(f"process_resident_memory_bytes{{{JOB}}}", "{{instance}}"),),
                ),
                Panel(
                    title="Events, by what became of them",
                    unit="ops",
                    queries=(
                        *rates("lockd_events_total", "result"),
                        Query(
                            f"sum by (subscriber) (rate(lockd_events_dropped_total{{{JOB}}}{WINDOW}))",
                            "dropped: {{subscriber}}",
                        ),
                    ),
                ),
            ),
        ),
    ),
)
