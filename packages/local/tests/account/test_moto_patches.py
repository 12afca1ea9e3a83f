"""Every patch of moto has a proof and a documented defect, and the patches are for the installed version."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from stepwire_local import EngineError
from stepwire_local.account.engine import MOTO_VERSION, check_moto
from stepwire_local.account.moto_patches import PATCHES, Patch


def test_every_patch_has_one_proof() -> None:
    sources = [file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_patches_of_*.py")]

    proven = [name for source in sources for name in re.findall(r'^@proof\("(\w+)"\)$', source, re.MULTILINE)]

    assert sorted(proven) == sorted(PATCHES)


@pytest.mark.parametrize("patch", PATCHES.values(), ids=list(PATCHES))
def test_every_patch_states_what_it_does_and_the_defect(patch: Patch) -> None:
    assert re.fullmatch(r"Patch: \S[^\n]*\.\n\n\s*Defect: \S.*\.\s*", patch.__doc__ or "", re.DOTALL)


def test_the_patches_are_for_the_installed_version() -> None:
    assert version("moto") == MOTO_VERSION


def test_another_version_of_moto_is_refused() -> None:
    with pytest.raises(EngineError, match=r"moto 5\.2\.6 is installed, but"):
        check_moto("5.2.6")
