"""What the queries of several dashboards have in common."""

from __future__ import annotations

from typing import Final

from tools.grafana import Query

JOB: Final = 'job=~"$job"'
WINDOW: Final = "[$__rate_interval]"
STEP: Final = "15s"
LEADS: Final = f"and on (job, instance) leader_election_master_status{{{JOB}}} == 1"
YES_NO: Final = ((0, "no", "transparent"), (1, "yes", "green"))
BAD: Final = ((0, "no", "green"), (1, "yes", "red"))
CHANGE: Final = Query(
    f"max by (job, name) (lockd_record_leader_transitions{{{JOB}}})"
    " > "
    f"max by (job, name) (lockd_record_leader_transitions{{{JOB}}} offset {STEP})",
    "{{name}} has another leader",
)
"""Each once, as annotations are asked for at steps of `STEP`."""


def quantiles(
    metric: str, by: str = "", *, select: str = JOB, of: tuple[float, ...] = (0.5, 0.99)
) -> tuple[Query, ...]:
    """Quantiles of a histogram, of each series of `by`."""
    names = ", ".join(filter(None, ("le", by)))
    legend = " ".join(f"{{{{{name}}}}}" for name in by.split(", ") if name)
    return tuple(
        Query(
            f"histogram_quantile({share}, sum by ({names}) (rate({metric}_bucket{{{select}}}{WINDOW})))",
            " ".join(filter(None, (legend, f"p{share * 100:g}"))),
        )
        for share in of
    )


def rates(metric: str, by: str, *, matchers: str = "") -> tuple[Query, ...]:
    """How much a counter rises a second, by these labels."""
    select = ", ".join(filter(None, (JOB, matchers)))
    legend = " ".join(f"{{{{{name}}}}}" for name in by.split(", "))
    return (Query(f"sum by ({by}) (rate({metric}{{{select}}}{WINDOW}))", legend),)
