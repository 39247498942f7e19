from __future__ import annotations

import io
import tarfile

import pytest

from tools.bases import BASES, Layer, certificates, place, settings


@pytest.mark.parametrize(
    ("name", "placed"),
    [
        ("./bin/dash", "usr/bin/dash"),
        ("./lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("./lib64/ld-linux-x86-64.so.2", "usr/lib64/ld-linux-x86-64.so.2"),
        ("./usr/bin/python3", "usr/bin/python3"),
        ("./library/x", "library/x"),
        ("./bin/", "usr/bin"),
        ("./", ""),
        ("./usr/share/doc/dash/copyright", ""),
        ("./usr/share/man/", ""),
        ("./usr/share/documents/x", "usr/share/documents/x"),
    ],
)
def test_where_a_file_of_a_package_belongs(name, placed):
    assert place(name) == placed


def package(*members):
    """A package's files, from names and what they are: bytes, a link's target, or None for a folder."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                member.type, member.linkname = tarfile.LNKTYPE, content
            else:
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return made.getvalue()


def laid(*packages):
    """What becomes of packages, as the layer's members by name."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        layer = Layer(tar)
        layer.begin()
        for files in packages:
            with tarfile.open(fileobj=io.BytesIO(files)) as opened:
                layer.take(opened)
        layer.write("etc/made", b"here")
    with tarfile.open(fileobj=io.BytesIO(made.getvalue())) as tar:
        members = tar.getmembers()
        assert len({member.name for member in members}) == len(members)
        return {member.name: member for member in members}, made.getvalue()


def test_a_layer_has_each_path_once_and_links_where_systems_have_them():
    found, _ = laid(
        package(("./bin/", None), ("./bin/sh", b"first"), ("./bin/ash", "./bin/sh")),
        package(("./bin/", None), ("./usr/bin/sh", b"second!")),
    )
    assert (found["bin"].issym(), found["bin"].linkname) == (True, "usr/bin")
    assert found["usr/bin/sh"].size == len(b"first")
    assert (found["usr/bin/ash"].islnk(), found["usr/bin/ash"].linkname) == (True, "usr/bin/sh")
    assert found["tmp"].mode == 0o1777
    assert found["etc/made"].size == len(b"here")


def test_files_keep_what_is_in_them():
    _, layer = laid(package(("./usr/lib/x", b"content")))
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert tar.extractfile("usr/lib/x").read() == b"content"


def test_authorities_are_joined_from_the_package():
    files = package(("./usr/share/ca-certificates/a.crt", b"A"), ("./usr/share/other", b"no"), ("./b.crt", b"B"))
    assert certificates(files) == [b"A", b"B"]


def test_other_lines_of_the_settings_stay():
    text = settings("DEMO_RATE=3\nETCD_IMAGE=mine\n", [BASES["etcd"], BASES["python"]])
    assert text == f"DEMO_RATE=3\nETCD_IMAGE={BASES['etcd'].image}\nPYTHON_IMAGE={BASES['python'].image}\n"
