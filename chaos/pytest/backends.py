"""What clusters under test are made of: processes of this host, containers, or a compose project that is there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from chaos.compose.access import Access
from chaos.compose.engine import EngineError
from chaos.errors import NoCluster
from chaos.runner.choosing import Chosen
from chaos.scenario.backends import LOCAL
from lockd.errors import ConfigError, LockdError
from lockd.etcd.binary import find_etcd

if TYPE_CHECKING:
    from chaos.pytest.options import Options


class Missing(LockdError):
    """What a cluster is made of can't be had on this machine; one line that says what, and the remedy."""


def choose(options: Options) -> Chosen:
    """What the options ask for, as `chaosctl run` has it.

    Raises:
        ConfigError: They don't go together.
    """
    adopted = bool(options.project) or options.compose_file is not None
    if options.project and options.compose_file is not None:
        raise ConfigError(("--ha-project and --ha-compose-file name the same thing: give one of them",))
    if adopted and options.backend == LOCAL:
        raise ConfigError(("a compose project is no local cluster: leave --ha-backend local out",))
    etcd = Access.of(options.endpoints, cacert=options.cacert, cert=options.cert, key=options.key)
    if not adopted and not etcd.is_usual:
        raise ConfigError(
            ("--ha-endpoints and its files are for --ha-project: a cluster that is made has its own etcd",)
        )
    return Chosen(options.backend, options.project, options.compose_file, etcd)


def ensure(chosen: Chosen) -> None:
    """Look whether clusters of that kind can be had here.

    Raises:
        Missing: They can't.
    """
    if not sys.platform.startswith("linux"):
        raise Missing(f"clusters need Linux (CLOCK_BOOTTIME), and this is {sys.platform}")
    try:
        if chosen.name == LOCAL:
            find_etcd()
        else:
            chosen.backend()
    except (ConfigError, EngineError, NoCluster) as error:
        raise Missing(str(error)) from error
