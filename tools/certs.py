"""Authorities and certificates for the cluster in Docker with TLS: `python3 -m tools.certs`, or `make up ARGS=--tls`.

Three authorities, since each means something else: whoever has a certificate of the first may write to etcd, of the
second is a replica, of the third may ask for locks and read pages. Their keys stay in authorities/, which no container
sees. compose/.tls is for its owner alone, so the keys in it can be readable by users of containers, who aren't he.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.engine import Refusal, needs, told

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "compose" / ".tls"
DAYS = 365
MADE = "made"
"""Written once all of them are there."""

MEMBERS = ("etcd-1", "etcd-2", "etcd-3")
REPLICAS = ("replica-1", "replica-2", "replica-3")


@dataclass(frozen=True)
class Certificate:
    """One to make.

    Attributes:
        path: In compose/.tls, without its suffix; the key lies beside it.
        authority: Whose it is.
        hosts: The names and addresses it is good for; none for a client's.
    """

    path: str
    authority: str
    hosts: tuple[str, ...] = ()


AUTHORITIES = ("etcd", "presence", "clients")

CERTIFICATES = (
    Certificate("etcd/member", "etcd", (*MEMBERS, "localhost", "127.0.0.1")),
    Certificate("replica/etcd", "etcd"),
    Certificate("replica/presence", "presence", REPLICAS),
    Certificate("replica/serving", "clients", (*REPLICAS, "localhost", "127.0.0.1")),
    Certificate("lockd/etcd", "etcd"),
    Certificate("lockd/serving", "clients", ("lockd", "localhost", "127.0.0.1")),
    Certificate("user/user", "clients"),
)

COPIES = (
    ("etcd", "etcd/ca.pem"),
    ("etcd", "replica/etcd-ca.pem"),
    ("presence", "replica/presence-ca.pem"),
    ("clients", "replica/clients-ca.pem"),
    ("etcd", "lockd/etcd-ca.pem"),
    ("clients", "lockd/clients-ca.pem"),
    ("clients", "user/ca.pem"),
)
"""Where each authority's certificate, without its key, is wanted."""

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def extensions(hosts: tuple[str, ...]) -> str:
    """What a certificate is good for, as openssl reads it."""
    lines = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature"]
    lines.append(f"extendedKeyUsage={'serverAuth,' if hosts else ''}clientAuth")
    if hosts:
        named = (f"{'IP' if host.replace('.', '').isdigit() else 'DNS'}:{host}" for host in hosts)
        lines.append(f"subjectAltName={','.join(named)}")
    return "\n".join([*lines, ""])


def openssl(*words: object) -> None:
    """Run openssl; its last line says what went wrong."""
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it does not say why"])[-1]
        raise Refusal(f"openssl {words[0]} failed: {said}", "openssl 1.1.1 or newer is needed")


def authority(folder: Path, name: str) -> None:
    subject = ("-subj", f"/O=lockd/CN={name} authority")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    files = ("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")
    openssl("req", "-x509", *KEY, "-days", DAYS, *subject, *usage, *files)


def certificate(asked: Certificate, made: Path) -> None:
    path = made / asked.path
    path.parent.mkdir(mode=0o755, exist_ok=True)
    key, signed = path.with_suffix(".key"), path.with_suffix(".pem")
    with tempfile.TemporaryDirectory() as scratch:
        request, wanted = Path(scratch) / "request", Path(scratch) / "extensions"
        wanted.write_text(extensions(asked.hosts), encoding="utf-8")
        name = path.parent.name if asked.hosts else path.name
        openssl("req", "-new", *KEY, "-subj", f"/O=lockd/CN={name}", "-keyout", key, "-out", request)
        issuer = made / "authorities" / asked.authority
        signing = ("-CA", f"{issuer}.pem", "-CAkey", f"{issuer}.key", "-CAcreateserial", "-days", DAYS)
        openssl("x509", "-req", "-in", request, *signing, "-extfile", wanted, "-out", signed)
    key.chmod(0o644)  # see above
    signed.chmod(0o644)


def ensure(folder: Path = FOLDER) -> bool:
    """Make all of them, unless they are there; were they made?"""
    if (folder / MADE).exists():
        return False
    needs("openssl", "install openssl")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "authorities").mkdir(mode=0o700, parents=True)
    folder.chmod(0o700)
    for name in AUTHORITIES:
        authority(folder / "authorities", name)
    for asked in CERTIFICATES:
        certificate(asked, folder)
    for name, copy in COPIES:
        shutil.copyfile(folder / "authorities" / f"{name}.pem", folder / copy)
        (folder / copy).chmod(0o644)
    (folder / MADE).touch()
    return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="certs", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="make new ones, authorities too, and then make up")
    with told("certs"):
        if parser.parse_args().renew:
            (FOLDER / MADE).unlink(missing_ok=True)
        made = ensure()
        print(f"certs: {FOLDER.relative_to(ROOT)} {f'is made, good for {DAYS} days' if made else 'is there already'}")


if __name__ == "__main__":
    main()
