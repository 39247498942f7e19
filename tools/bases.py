"""Base images made from Debian packages, for where no container registry can be reached: `make bases`.

Each holds the packages asked for and all that they depend on, found by apt as if nothing were installed, unpacked and
given to `docker import`. No package's script runs, so what these would have made is made here. Needs Debian and its
package lists, not root. The names of the images go to compose/.env, where compose finds them.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tools.engine import Refusal, docker, needs, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "compose" / ".env"

MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
"""Folders of packages that are links into usr on a system."""

UNUSED = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/", "usr/share/info/")

SCRIPTS_ONLY = frozenset(
    {"adduser", "debconf", "dpkg", "libgmp10", "lsb-base", "openssl", "passwd", "perl-base", "sysvinit-utils", "tar"}
)
"""What packages depend on for their scripts alone."""

HOST_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"

FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


@dataclass(frozen=True)
class Base:
    """An image to make.

    Attributes:
        variable: By which docker-compose.yml asks for it.
    """

    variable: str
    image: str
    packages: tuple[str, ...]


BASES = {
    "python": Base(
        "PYTHON_IMAGE",
        "lockd-base/python:debian",
        ("base-files", "ca-certificates", "coreutils", "dash", "libstdc++6", "python3", "python3-venv", "findutils"),
    ),
    "etcd": Base("ETCD_IMAGE", "lockd-base/etcd:debian", ("base-files", "etcd-client", "etcd-server")),
    "prometheus": Base("PROMETHEUS_IMAGE", "lockd-base/prometheus:debian", ("base-files", "prometheus")),
}
DEFAULT = ("python", "etcd")


# --- what becomes of a package's files


def place(name: str) -> str:
    """Where a file of a package belongs, as a path without a slash at its beginning; "" for nowhere."""
    path = str(PurePosixPath(name.removeprefix("."))).strip("/")
    first, _, rest = path.partition("/")
    if first in MERGED:
        path = f"usr/{first}/{rest}".rstrip("/")
    return "" if f"{path}/".startswith(UNUSED) else path


@dataclass
class Layer:
    """A file system as one tar file."""

    tar: tarfile.TarFile
    placed: set[str] = field(default_factory=set)

    def begin(self) -> None:
        for name in ("usr", *(f"usr/{each}" for each in MERGED), "root", "tmp", "etc", "etc/ssl", "etc/ssl/certs"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            self._add(folder)
        for name in MERGED:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            self._add(link)

    def take(self, package: tarfile.TarFile) -> None:
        """All files of a package, at their places; the first of a name stays."""
        for member in package:
            name = place(member.name)
            if not name:
                continue
            member.name = name
            if member.islnk():
                member.linkname = place(member.linkname)
            self._add(member, package.extractfile(member) if member.isreg() else None)

    def write(self, name: str, text: bytes) -> None:
        made = tarfile.TarInfo(name)
        made.size, made.mode = len(text), 0o644
        self._add(made, io.BytesIO(text))

    def _add(self, member: tarfile.TarInfo, content: object = None) -> None:
        if member.name not in self.placed:
            self.placed.add(member.name)
            self.tar.addfile(member, content)  # type: ignore[arg-type]  # what extractfile gives


# --- apt


def fetch(packages: Sequence[str], folder: Path) -> Iterator[Path]:
    """The package files of packages and of all that they depend on."""
    (folder / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    nothing_installed = {
        "Dir::State::status": folder / "status",
        "Dir::Cache::archives": folder,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Install-Recommends": "0",
        "APT::Keep-Downloaded-Packages": "1",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "1",
    }
    options = [word for name, value in nothing_installed.items() for word in ("-o", f"{name}={value}")]
    command = ["apt-get", *options, "-qq", "--download-only", "--yes", "install", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        problem = (done.stderr or done.stdout).strip().splitlines() or ["it failed"]
        raise Refusal(f"apt-get can't get {' '.join(packages)}: {problem[-1]}", "apt-get update, then try again")
    for path in sorted(folder.glob("*.deb")):
        if path.name.partition("_")[0] not in SCRIPTS_ONLY:
            yield path


def fill(layer: Layer, packages: Iterable[Path]) -> None:
    layer.begin()
    authorities = []
    for path in packages:
        files = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as package:
            layer.take(package)
        if path.name.startswith("ca-certificates_"):
            authorities = certificates(files)
    # Those of this host, if it has any: it may reach packages by an authority of its own.
    found = HOST_AUTHORITIES.read_bytes() if HOST_AUTHORITIES.exists() else b"".join(authorities)
    for name, text in FILES.items():
        layer.write(name, text.encode())
    layer.write(AUTHORITIES, found)


def certificates(files: bytes) -> list[bytes]:
    """The authorities that a package brings, which its script would have joined."""
    with tarfile.open(fileobj=io.BytesIO(files)) as package:
        members = [member for member in package if member.isreg() and member.name.endswith(".crt")]
        return [opened.read() for member in members if (opened := package.extractfile(member)) is not None]


# --- the command


def make(base: Base, folder: Path) -> None:
    """Make one image."""
    tar = folder / "layer.tar"
    with tarfile.open(tar, "w") as opened:
        fill(Layer(opened), fetch(base.packages, folder))
    with tar.open("rb") as layer:
        docker("import", "-", base.image, stdin=layer)
    size = tar.stat().st_size / 1e6
    tar.unlink()
    print(f"bases: {base.image}, {size:.0f} MB", flush=True)


def settings(text: str, chosen: Iterable[Base]) -> str:
    """The text of an .env file in which variables name these images; its other lines stay."""
    wanted = {base.variable: base.image for base in chosen}
    kept = [line for line in text.splitlines() if line.partition("=")[0] not in wanted]
    return "\n".join([*kept, *(f"{name}={image}" for name, image in wanted.items()), ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="bases", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BASES)}; by default {', '.join(DEFAULT)}")
    names = parser.parse_args().names or DEFAULT
    unknown = sorted(set(names) - set(BASES))
    if unknown:
        parser.error(f"no base image is called {unknown[0]}: there are {', '.join(BASES)}")
    with told("bases"):
        for program in ("apt-get", "dpkg-deb"):
            needs(program, "this is not Debian: name images that can be pulled, by PYTHON_IMAGE and ETCD_IMAGE")
        chosen = [BASES[name] for name in names]
        for base in chosen:
            with tempfile.TemporaryDirectory(prefix="lockd-base-") as folder:
                make(base, Path(folder))
        text = SETTINGS.read_text(encoding="utf-8") if SETTINGS.exists() else ""
        SETTINGS.write_text(settings(text, chosen), encoding="utf-8")
        print(f"bases: {SETTINGS.relative_to(ROOT)} names them now; remove it to use public images again")


if __name__ == "__main__":
    main()
