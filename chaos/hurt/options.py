"""The options by which a person names a cluster that is there: a folder, or a compose project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from chaos.compose import access
from chaos.hurt.places import Whereabouts
from component.options import with_options
from lockd.flags import DEFAULT_PREFIX, PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_OPTIONS: Final = (
    click.option(
        "--dir",
        "folder",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="CHAOSCTL_DIR",
        show_envvar=True,
        help="The folder that `chaosctl up` printed.",
    ),
    click.option(
        "--project", default="", metavar="NAME", help="A compose project whose services are labelled by role."
    ),
    click.option(
        "--compose-file", "file", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="The file of one."
    ),
    click.option("--lock", default="kube-system/kube-scheduler", show_default=True, help="The replicas' lock."),
    click.option("--prefix", type=PREFIX, default=DEFAULT_PREFIX, show_default=True, help="Of a project's keys."),
    *access.OPTIONS,
)


def place_options(command: F) -> F:
    """Give a command those options, as `where` (Whereabouts).

    A folder in the environment is left aside where a project is named.
    """
    return with_options(command, _OPTIONS, _where)


def _where(values: dict[str, Any]) -> dict[str, Any]:
    fields = {name: values.pop(name) for name in ("lock", "prefix")}
    etcd = access.Access.taken(values)
    folder, project, file = values.pop("folder"), values.pop("project"), values.pop("file")
    if project and file is not None:
        raise click.UsageError("--project and --compose-file name the same thing: give one of them")
    if folder is None and not project and file is None:
        raise click.UsageError("no cluster is named: give --dir (env var: 'CHAOSCTL_DIR'), --project or --compose-file")
    where = Whereabouts(
        folder=None if project or file is not None else folder,
        project=project,
        file=file,
        etcd=etcd,
        **fields,
    )
    return {"where": where}
