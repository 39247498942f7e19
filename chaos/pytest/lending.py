"""A cluster lent to one test: had in time or not at all, and taken back as it was given."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from chaos.pytest import options
from chaos.pytest.backends import Missing
from chaos.pytest.case import Case
from chaos.pytest.missing import leave_out
from chaos.pytest.reporting import CASE, EVIDENCE, PROPERTY, evidence
from component.process import Gone
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.pytest.failover import Failover
    from chaos.pytest.session import Session


@contextlib.contextmanager
def lent(item: pytest.Item, session: Session) -> Iterator[Case]:
    """A test's case. What goes wrong with a cluster, rather than in the test, fails it in one line."""
    with contextlib.ExitStack() as undo:
        try:
            case = item.stash[CASE] = _case(item, session, undo)
        except Missing as error:
            leave_out(str(error), session.options.missing)
        except (LockdError, OSError, Gone) as error:
            session.spare()  # what its processes say is there
            pytest.fail(f"no cluster: {error}", pytrace=False)
        yield case
        try:
            case.end()
        except (LockdError, OSError, Gone) as error:
            problem = f"the cluster is not as it was before the test: {error}"
            item.stash[EVIDENCE] = evidence(case, session, f"{item.nodeid}: {problem}")
            session.pool.discard(case.cluster)
            pytest.fail(problem, pytrace=False)
        if session.options.keep:
            session.keep(case, f"{item.nodeid}: kept, as was asked for", failed=False)


def _case(item: pytest.Item, session: Session, undo: contextlib.ExitStack) -> Case:
    shape, fresh = options.shape_of(item.config, list(item.iter_markers(options.MARK)))
    pool = session.pool
    cluster = undo.enter_context(pool.fresh(shape)) if fresh else pool.shared(shape)
    if fresh:
        undo.callback(_forget, item)  # what fails after it has ended, another fixture perhaps, finds it no more

    def told(found: Failover) -> None:
        item.user_properties.append((PROPERTY, str(found)))

    return Case(cluster, pool, item.nodeid, told=told, fresh=fresh)


def _forget(item: pytest.Item) -> None:
    if CASE in item.stash:
        del item.stash[CASE]
