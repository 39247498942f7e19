"""Generate code from proto/, and schemas, tables and dashboards: `make gen`; with --check only tell what differs.

The result is the same for the same sources and the same grpcio-tools, which the lock file pins.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from grpc_tools import protoc

from chaos.journal import schema as journal_schema
from chaos.scenario import schema as scenario_schema
from chaos.scenario import table as scenario_table
from tools.dashboards import DASHBOARDS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lockd/v1", "replica/v1")


def fill_tables() -> str:
    return scenario_table.filled((ROOT / "docs" / "chaos.md").read_text(encoding="utf-8"))


TEXTS: dict[str, Callable[[], str]] = {
    "chaos/journal/journal.schema.json": journal_schema.render,
    "chaos/scenario/scenario.schema.json": scenario_schema.render,
    "docs/chaos.md": fill_tables,
    **{path: dashboard.render for path, dashboard in DASHBOARDS.items()},
}
"""Single files by their path, with what makes them."""

HEADER = '"""Generated from proto/{package}: change that, then run `make gen`."""\n'


def generate(into: Path) -> dict[str, bytes]:
    """All generated files by their path in the tree; a package without sources has none."""
    files = {name: render().encode() for name, render in TEXTS.items()}
    for package in PACKAGES:
        sources = sorted((ROOT / "proto" / package).glob("*.proto"))
        if not sources:
            continue
        services = [source for source in sources if re.search(r"^service\s", source.read_text(), re.MULTILINE)]
        for outputs, inputs in ((("python", "pyi"), sources), (("grpc_python",), services)):
            if inputs:
                compile_protos(into, outputs, inputs)
        files[f"{package}/__init__.py"] = HEADER.format(package=package).encode()
        files.update((str(path.relative_to(into)), path.read_bytes()) for path in sorted((into / package).iterdir()))
    return files


def compile_protos(into: Path, outputs: tuple[str, ...], sources: list[Path]) -> None:
    well_known = Path(protoc.__file__).parent / "_proto"
    flags = [f"--{output}_out={into}" for output in outputs]
    if protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}", *flags, *map(str, sources)]):
        sys.exit("gen: protoc refused the sources: see the lines above")


def committed() -> dict[str, bytes]:
    """The generated files as they stand in the tree."""
    paths = (path for package in PACKAGES for path in (ROOT / package).glob("*.py*"))
    texts = (path for name in TEXTS if (path := ROOT / name).exists())
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in (*paths, *texts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the tree differs")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as directory:
        wanted = generate(Path(directory))
    present = committed()
    differing = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    if check:
        if differing:
            sys.exit(f"gen: run make gen and commit: {', '.join(differing)}")
        return
    for name in differing:
        path = ROOT / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted[name])
        else:
            path.unlink()
        print(f"gen: {name} {'written' if name in wanted else 'removed'}")


if __name__ == "__main__":
    main()
