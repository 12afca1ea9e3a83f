"""The test that docs/extras/approvals.md shows passes as it stands, in the folder of the page about tests."""

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page
from tests.docs.test_testing_page import shown_by

OF_ALL = page(ROOT / "docs" / "testing.md")
OWN = page(ROOT / "docs" / "extras" / "approvals.md")


def test_the_test_of_the_page_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (template,), (bank, test), (decisions,) = OF_ALL.blocks("yaml"), OF_ALL.blocks("python"), OWN.blocks("python")
    tool = next(one for one in OWN.blocks("yaml") if "LargeOrdersTool" in one)
    files = {"template.yaml": template + tool, "bank.py": bank, "test_large_orders.py": f"{test}\n{decisions}"}
    monkeypatch.chdir(tmp_path)

    assert "4 passed" in shown_by("test_large_orders.py", files, monkeypatch, capsys)
