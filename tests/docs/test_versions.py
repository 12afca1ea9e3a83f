"""One story of the version: a page describes its own checkout, and no page needs an edit on the day of a release.

The number is in pyproject.toml. Which versions are released, the tags of the repository say, and no page does.
"""

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.pages import PAGES, ROOT

_PACKAGES: Final = (ROOT, *(ROOT / "packages" / name for name in ("client", "command", "local", "wrap")))
_OF_PACKAGES: Final = [ROOT / "packages" / name / "README.md" for name in ("client", "command", "local", "wrap")]
_GENERATED: Final = sorted((ROOT / "packages/command/stepwire_cli/templates").rglob("README.md"))
_DECISIONS: Final = ROOT / "docs" / "decisions"
_SHOWN: Final = [one for one in (*PAGES, *_OF_PACKAGES, *_GENERATED) if _DECISIONS not in one.parents]
_DATED: Final = re.compile(
    r"not (been )?released yet|not yet released|no version (has been|is) released|until (the )?(first )?release\b"
    r"|from release 1|(not|no) (yet )?on (an|the|any) index|on (an|no|the) index (yet|soon)|until the package is on",
    re.IGNORECASE,
)
"""What is true before a release and false after it, or the other way round."""
_INSTALLS: Final = re.compile(r"uvx (?:--\S+ \S+ )*'?stepwire|pip install '?stepwire")


def metadata(package: Path) -> dict[str, Any]:
    return tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("page", _SHOWN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_says_what_a_release_would_make_false(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert [found[0] for found in _DATED.finditer(text)] == []


@pytest.mark.parametrize(
    "words",
    [
        "No version has been released.",
        "1.0.0 is not released yet",
        "Until the package is on an index",
        "until release 1.0",
        "are on no index yet",
        "It is not on an index yet",
    ],
)
def test_what_pages_once_said_would_be_found(words: str) -> None:
    assert _DATED.search(words)


def test_all_packages_and_changelogs_have_one_number() -> None:
    numbers = {metadata(package)["version"] for package in _PACKAGES}
    newest = {
        re.findall(r"^## (.+)$", (package / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
        for package in _PACKAGES
    }

    assert len(numbers) == 1
    assert newest == numbers


def test_a_readme_whose_lines_install_a_package_says_how_without_an_index() -> None:
    installing = [page for page in (*_OF_PACKAGES, *_GENERATED) if _INSTALLS.search(page.read_text(encoding="utf-8"))]

    assert installing
    assert [page for page in installing if "FIND_LINKS" not in page.read_text(encoding="utf-8")] == []
