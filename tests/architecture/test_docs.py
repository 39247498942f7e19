"""What the documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replica.api.manifests import parse_manifests

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")
PATHS = re.compile(r"`((?:component|lockd|replica|chaos|tests|tools|docs)/[\w./-]*\w)`")
LATER: tuple[str, ...] = ()
"""Named as what is to come."""


def targets():
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_what_is_there(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link, _ in LINK.findall(text) if not (page.parent / link).exists()]
    paths = [path for path in PATHS.findall(text) if not (ROOT / path).exists() and path not in LATER]
    commands = set(re.findall(r"`make ([a-z]+)", text)) - targets()
    assert (links, paths, commands) == ([], [], set())


@pytest.mark.parametrize("example", sorted((ROOT / "docs" / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_an_example_can_be_applied(example):
    assert parse_manifests(example.read_bytes(), example.name)


def test_each_target_is_told_by_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = {target for words in re.findall(r"`make ([a-z]+)`((?: / `[a-z]+`)*)", text) for target in [words[0]]}
    told |= set(re.findall(r" / `([a-z]+)`", text))
    assert targets() - {"help"} <= told
