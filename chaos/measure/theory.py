"""How long a failover may take: by this election's rules and by client-go's, derived from the timing alone.

Nothing here is measured. The network, etcd and processes take no time in it, so what was measured lies above it by what
they took. A fault strikes at a moment that has nothing to do with renewals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lockd.config import JITTER_FACTOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from chaos.timing import Timing

DRAWS: Final = 50_000
SEED: Final = 1
"""Of the draws: the same timing gives the same figures."""


@dataclass(frozen=True, slots=True)
class Theory:
    """What a rule gives, seconds from the fault to the new term.

    Attributes:
        name: `release`, `evidence`, `expiry`; with `client-go ` before it, by its rules.
    """

    name: str
    min: float
    mean: float
    p99: float
    max: float


def theories(timing: Timing, *, standbys: int) -> tuple[Theory, ...]:
    """By each way to a new term, ours and then client-go's.

    Args:
        standbys: How many wait for the lease; one at least.
    """
    return (
        Theory("release", 0.0, 0.0, 0.0, 0.0),
        Theory("evidence", 0.0, 0.0, 0.0, 0.0),
        _expiry(timing),
        _client_go_release(timing, standbys),
        _client_go_expiry(timing, standbys),
    )


def beside(timing: Timing, takeover: str, *, standbys: int) -> tuple[Theory, ...]:
    """The two that a hand-off is to be held against: ours by that way, and client-go's, which knows no evidence."""
    same = f"client-go {'release' if takeover == 'release' else 'expiry'}"
    return tuple(each for each in theories(timing, standbys=standbys) if each.name in (takeover, same))


def _expiry(timing: Timing) -> Theory:
    """Ours: every standby saw the last renewal as it was made, and a timer of its own ends with the lease.

    The age of the last renewal at the fault is uniform over a retry period.
    """
    lease, retry = timing.lease_duration, timing.retry_period
    return Theory("expiry", lease - retry, lease - retry / 2, lease - retry / 100, lease)


def _client_go_release(timing: Timing, standbys: int) -> Theory:
    """Its standbys look at the lease from time to time: whoever looks first after the release takes it."""
    rng = np.random.default_rng(SEED)
    first = np.min(_looks_after(rng, np.zeros((DRAWS, standbys)), timing), axis=1)
    return _of("client-go release", first, 0.0, timing.longest_poll)


def _client_go_expiry(timing: Timing, standbys: int) -> Theory:
    """Its standbys count a lease from the look at which they first saw the last renewal, and then look when they look.

    Its record holds whole seconds of the lease duration, cut off.
    """
    rng = np.random.default_rng(SEED)
    lease = float(int(timing.lease_duration))
    age = rng.uniform(0.0, timing.retry_period, DRAWS)
    took = np.min(_looks_after(rng, np.full((DRAWS, standbys), lease), timing), axis=1) - age
    return _of("client-go expiry", took, lease - timing.retry_period, lease + 2 * timing.longest_poll)


def _looks_after(rng: np.random.Generator, wait: NDArray[np.float64], timing: Timing) -> NDArray[np.float64]:
    """When each standby's first look comes that is at least `wait` after its first look from now on (0: that one)."""
    now = _residual(rng, wait.shape, timing)
    begun = now.copy()
    while (late := now - begun < wait).any():
        now[late] += _pause(rng, int(late.sum()), timing)
    return now


def _pause(rng: np.random.Generator, count: int, timing: Timing) -> NDArray[np.float64]:
    """Between two looks: a retry period, and up to the jitter factor of it more."""
    return timing.retry_period * (1.0 + JITTER_FACTOR * rng.random(count))


def _residual(rng: np.random.Generator, shape: tuple[int, ...], timing: Timing) -> NDArray[np.float64]:
    """From a moment without relation to the looks to the next one.

    Such a moment falls into a pause with a chance in proportion to its length, and anywhere within it: so a pause is
    drawn, kept with that chance, and cut at random.
    """
    longest, count = timing.longest_poll, int(np.prod(shape))
    kept = np.empty(0)
    while kept.size < count:
        pauses = _pause(rng, 2 * count, timing)
        kept = np.concatenate([kept, pauses[rng.random(pauses.size) * longest < pauses]])
    return (kept[:count] * rng.random(count)).reshape(shape)


def _of(name: str, drawn: NDArray[np.float64], least: float, most: float) -> Theory:
    """Bounds from the rules, mean and p99 from the draws."""
    return Theory(name, least, float(np.mean(drawn)), float(np.quantile(drawn, 0.99)), most)
