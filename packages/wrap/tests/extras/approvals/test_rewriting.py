"""`stepwire wrap --write` for approvers: what asks them goes into the owner's own files."""

from pathlib import Path
from typing import Final

import pytest

from packages.wrap.tests.test_rewriting import STYLES, contents, estate, put, rewritten_twice
from stepwire_wrap.deciding import NOBODY_SAYS, Deciding
from stepwire_wrap.exits import Exit

APPROVERS: Final = Deciding.of(None, ["claim=groups:managers"], None)


@pytest.mark.parametrize("style", STYLES)
def test_all_six_edits_are_one_question_and_a_second_run_changes_nothing(tmp_path: Path, style: str) -> None:
    written = rewritten_twice(tmp_path, style, APPROVERS)

    assert b"approvers: " in written or b'approvers": ' in written


def test_a_manifest_that_was_written_before_somebody_decided_gets_the_approvers(tmp_path: Path) -> None:
    estate(tmp_path, *STYLES["a file in YAML"])
    put(tmp_path, NOBODY_SAYS)
    before = contents(tmp_path)["template.yaml"]

    code, _, _ = put(tmp_path, APPROVERS)

    assert code == Exit.DONE
    assert b"approvers: {" not in before
    assert b'approvers: {"claim":"groups","has":["managers"]}' in contents(tmp_path)["template.yaml"]
    assert b"elicitation" in contents(tmp_path)["flow.asl.yaml"]
