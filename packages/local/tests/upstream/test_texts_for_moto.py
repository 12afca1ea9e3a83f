"""Every patch that moto could take has a text for its authors, and each text shows a fault that moto still has."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import moto
import pytest

from packages.local.tests.upstream import index
from packages.local.tests.upstream.reproductions import Text, texts
from stepwire_local.account.moto_patches import PATCHES
from tests.waiting import HANG_GUARD

_PROGRAM: Final = "packages.local.tests.upstream.reproductions"
_ROOT: Final = Path(__file__).parents[4]
_SOURCES: Final = Path(moto.__file__).parents[1]


def ends(*options: str) -> dict[str, str | None]:
    """Run all reproductions in a process of their own; return how each ends."""
    command = [sys.executable, "-m", _PROGRAM, *options]
    ran = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=HANG_GUARD, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_patch_has_a_text_or_says_why_it_stays_here() -> None:
    ours = {name for name, patch in PATCHES.items() if re.search(r"\n\s+Ours: \S", patch.__doc__ or "")}

    assert {text.patch for text in texts()} == PATCHES.keys() - ours


def test_the_index_lists_all_texts() -> None:
    assert index.PAGE.read_text(encoding="utf-8") == index.written(), f"python -m {index.__name__}"


@pytest.mark.parametrize("text", texts(), ids=lambda text: text.patch)
def test_a_text_names_files_that_moto_has_and_its_version(text: Text) -> None:
    named = re.findall(r"`(moto/[\w/.]+)`", text.where)

    assert named
    assert [one for one in named if not (_SOURCES / one).exists()] == []
    assert text.version == moto.__version__


@pytest.mark.long
def test_moto_alone_still_has_each_fault() -> None:
    assert ends() == {text.patch: text.fault for text in texts()}


@pytest.mark.long
def test_the_patches_mend_each_fault() -> None:
    assert {patch: end for patch, end in ends("--patched").items() if end is not None} == {}
