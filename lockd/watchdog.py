"""The leader-election health check: is a leader that can't renew still around?

The gate and the exit bound end such a process long before this turns red. It is for the case that they failed too.
"""

from __future__ import annotations

TOLERANCE = 20.0
"""Seconds beyond the lease duration that a leader may be silent; kube-scheduler's."""


def renewal_problem(
    *,
    leading: bool,
    last_renewal: float,
    now: float,
    lease_duration: float,
    name: str,
    tolerance: float = TOLERANCE,
) -> str | None:
    """None when all is well, else one line that names the lease.

    Args:
        leading: Does this process lead? One that doesn't has nothing to renew.
        last_renewal: When its last settled renewal was first sent, in seconds on the clock of `now`.
        lease_duration: Seconds.
        name: The lease's.
        tolerance: Seconds; exactly lease duration + tolerance is still well.
    """
    if not leading or now - last_renewal <= lease_duration + tolerance:
        return None
    return f"failed election to renew leadership on lease {name}: {now - last_renewal:.0f} s without a renewal"
