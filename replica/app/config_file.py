"""Reads and writes a `KubeSchedulerConfiguration` file: every problem with its path, and a warning for what is moot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from component import strict
from lockd.errors import ConfigError
from replica.api.documents import DocumentError, parse_documents, write_yaml
from replica.app.scheme import KIND, Configuration
from replica.framework.arguments import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_GROUP: Final = API_VERSION.partition("/")[0]

_PROFILE: Final = "say it in a profile's plugins"

REMOVED_FIELDS: Final[Mapping[str, str]] = {
    "algorithmSource": f"was removed with Policy and AlgorithmProvider: {_PROFILE}",
    "algorithmProvider": f"was removed: {_PROFILE}",
    "schedulerName": "was moved: it is profiles[].schedulerName",
    "hardPodAffinitySymmetricWeight": "was moved: it is hardPodAffinityWeight in the args of InterPodAffinity",
    "disablePreemption": "was removed: disable DefaultPreemption in a profile's plugins.postFilter",
    "bindTimeoutSeconds": "was moved to the args of VolumeBinding, which isn't built here",
    "healthzBindAddress": "was removed: use --bind-address and --secure-port",
    "metricsBindAddress": "was removed: use --bind-address and --secure-port",
    "plugins": "was moved: it is profiles[].plugins",
    "pluginConfig": "was moved: it is profiles[].pluginConfig",
    "featureGates": "is no field of this file, and nothing is gated here",
}

MOOT: Final[Mapping[str, str]] = {
    "clientConnection": "there is no API server to connect to: etcd is spoken to directly (--endpoints)",
    "parallelism": "all nodes are looked at in one pass over columns, not by several threads",
    "enableProfiling": "no profiles are served",
    "enableContentionProfiling": "no profiles are served",
    "percentageOfPlacementsToScore": "placements of whole groups are not built here",
}
"""Fields that may stand in a file and change nothing, and why."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a file says.

    Attributes:
        source: Its name.
        warnings: A line for each thing in it that changes nothing.
    """

    source: str
    configuration: Configuration
    warnings: tuple[str, ...] = ()


def read(path: Path) -> ConfigFile:
    """A configuration file.

    Raises:
        ConfigError: With every problem, each with the file's name and the path in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError((f"--config {path}: can't be read: {getattr(error, 'strerror', None) or error}",)) from error
    try:
        return parse(text, str(path))
    except ConfigError as error:
        raise ConfigError(tuple(f"--config {path}: {problem}" for problem in error.problems)) from error


def parse(text: str, source: str = "") -> ConfigFile:
    """The configuration in a text of YAML or JSON.

    Raises:
        ConfigError: With every problem, each with its path.
    """
    try:
        documents = [each.value for each in parse_documents(text)]
    except DocumentError as error:
        raise ConfigError((str(error),)) from error
    if len(documents) != 1:
        raise ConfigError((f"holds {len(documents)} documents: put one {KIND} into it",))
    (document,) = documents
    problems = list(_identity_problems(document))
    if problems:
        raise ConfigError(tuple(problems))  # another kind of document: its fields are none of ours
    problems += [f"{name}: {why}" for name, why in REMOVED_FIELDS.items() if name in document]
    try:
        kept = {name: value for name, value in document.items() if name not in REMOVED_FIELDS}
        configuration = strict.decode(kept, Configuration)
    except strict.Malformed as error:
        problems += error.problems
        raise ConfigError(tuple(problems)) from error
    if problems:
        raise ConfigError(tuple(problems))
    return ConfigFile(source, configuration, tuple(_moot(document)))


def render(configuration: Configuration) -> str:
    """A configuration as the YAML that `parse` reads back."""
    return write_yaml(strict.encode(configuration))


def write(configuration: Configuration, path: Path) -> None:
    """Write a configuration to a file, or to what else the path names, such as /dev/stdout.

    Raises:
        OSError: It can't be written.
    """
    path.write_text(render(configuration), encoding="utf-8")


def _identity_problems(document: Any) -> Iterator[str]:
    if not isinstance(document, dict):
        yield f"holds {strict.show(document)}: put one {KIND} into it"
        return
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind == "Policy":
        yield "kind: Policy was removed: put plugins and their args into the profiles of a KubeSchedulerConfiguration"
    elif kind != KIND:
        yield f"kind: {strict.show(kind)} must be {KIND}"
    elif isinstance(version, str) and version.partition("/")[0] == _GROUP and version != API_VERSION:
        yield f"apiVersion: {version} was removed: use {API_VERSION}"
    elif version != API_VERSION:
        yield f"apiVersion: {strict.show(version)} must be {API_VERSION}"


def _moot(document: Mapping[str, Any]) -> Iterator[str]:
    for name, why in MOOT.items():
        if document.get(name) is not None:
            yield f"{name}: {why}"
    for index, profile in enumerate(document.get("profiles") or ()):
        if profile.get("percentageOfPlacementsToScore") is not None:
            yield f"profiles[{index}].percentageOfPlacementsToScore: {MOOT['percentageOfPlacementsToScore']}"
