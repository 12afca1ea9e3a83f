"""Every link of the documents has an existing target, and every file that they name exists. No network is used."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import PAGES, ROOT, Page, anchor_in_the_site, anchor_of, page

# Folders to which the names of files in documents may be relative.
_BASES: Final = (
    "",
    "layers/stepwire/",
    "layers/stepwire/stepwire/",
    "functions/",
    "docs/",
    "tests/",
    *(f"packages/{one}/" for one in ("local", "client", "command", "wrap")),
)
_FILE: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_NAMED_FILES: Final = re.compile(r"\.(py|md|ya?ml|csv|toml|txt|json)$|/$")
# Created by a command, or files of the reader's own project.
_ELSEWHERE: Final = re.compile(
    r"^(dist/|\.venv|\.aws-sam|\.fuzz|\.site|\.vscode|\.cursor|mcp\.json$|in_memory_task_store\.py$|server\.(json|py)$|stubs/|\.json$|\.py$|https?:)"
)


# These also name files of earlier versions.
_OF_THE_PAST: Final = ("CHANGELOG.md", "0023-rooms.md")


@cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(anchor_of(heading) for heading in page(path).headings)


def argument_violations(found: Page) -> list[str]:
    """List the links that lead nowhere."""
    faults: list[str] = []
    for link in found.links:
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (found.path.parent / name).resolve() if name else found.path
        if not target.exists():
            faults.append(f"{link}: there is no such file")
        elif anchor and anchor not in anchors(target):
            faults.append(f"{link}: there is no such heading")
    return faults


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    assert argument_violations(page(path)) == []


@pytest.mark.parametrize(
    "path", [one for one in PAGES if one.is_relative_to(ROOT / "docs")], ids=lambda path: path.name
)
def test_a_page_of_the_site_links_to_pages_of_the_site_alone(path: Path) -> None:
    outside = [link for link in page(path).links if link.startswith("..") and not _in_the_docs(path, link)]

    assert outside == []


def _in_the_docs(path: Path, link: str) -> bool:
    return (path.parent / link.partition("#")[0]).resolve().is_relative_to(ROOT / "docs")


def test_a_heading_that_is_linked_to_has_one_anchor_on_the_code_host_and_in_the_site() -> None:
    linked = {link.partition("#")[2] for one in PAGES for link in page(one).links if "#" in link}

    differing = [
        f"{page(path).name}: {heading}"
        for path in PAGES
        for heading in page(path).headings
        if anchor_of(heading) in linked and anchor_of(heading) != anchor_in_the_site(heading)
    ]

    assert differing == []


def missing_files(found: Page) -> list[str]:
    """Return the files in inline code that do not exist."""
    named = [word for word in found.words if _FILE.fullmatch(word) and _NAMED_FILES.search(word)]
    return [word for word in named if not _ELSEWHERE.search(word) and not _is_there(word)]


def _is_there(name: str) -> bool:
    before, examples, _ = name.partition("examples/")
    if examples and not (ROOT / before / examples).exists():  # the reader's to delete
        return True
    if "/" not in name.rstrip("/"):  # a name without its folder
        return any(ROOT.glob(f"{name.rstrip('/')}")) or _somewhere(name.rstrip("/"))
    return any((ROOT / base / name).exists() for base in _BASES)


@cache
def _somewhere(name: str) -> bool:
    tops = ("layers", "packages", "tests", "tools", "functions", "docs", "examples", "benchmarks", "release")
    return any(any((ROOT / top).rglob(name)) for top in (*tops, "requirements"))


@pytest.mark.parametrize("path", [one for one in PAGES if one.name not in _OF_THE_PAST], ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(path: Path) -> None:
    assert missing_files(page(path)) == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("[a](README.md#see-it-work)", 0),
        ("[a](nowhere.md)", 1),
        ("[a](README.md#nowhere)", 1),
        ("`[a](nowhere.md)`", 0),
        ("[a](https://example.com/nowhere)", 0),
    ],
)
def test_the_checker_finds_broken_links(text: str, faults: int) -> None:
    assert len(argument_violations(Page(ROOT / "made_up.md", text))) == faults


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("`stepwire/tasks/lifecycle.py`", []),
        ("`stepwire/tasks/nowhere.py`", ["stepwire/tasks/nowhere.py"]),
        ("`tests/nowhere/`", ["tests/nowhere/"]),
        ("`lifecycle.py`", []),
        ("`application/json`", []),
    ],
)
def test_the_checker_finds_missing_files(text: str, missing: list[str]) -> None:
    assert missing_files(Page(ROOT / "made_up.md", text)) == missing
