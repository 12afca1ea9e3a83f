"""The test that docs/testing.md shows passes as it stands, in a folder with the files of the page."""

import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page

PAGE = page(ROOT / "docs" / "testing.md")
# A run of pytest inside a run: in this process, because another one imports moto again, which takes seconds.
APART = ("cacheprovider", "faulthandler", "unraisableexception", "threadexception", "xdist")


def test_the_test_of_the_page_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (template,), (bank, test) = PAGE.blocks("yaml"), PAGE.blocks("python")
    for name, text in (("template.yaml", template), ("bank.py", bank), ("test_orders.py", test)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPWIRE_TEMPLATE", str(ROOT / "template.yaml"))
    monkeypatch.setattr(sys, "path", [*sys.path])

    code = pytest.main(["-q", *(f"-pno:{name}" for name in APART), "test_orders.py"])

    shown = capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "test_orders")
    assert code == pytest.ExitCode.OK, shown
    assert "2 passed" in shown
