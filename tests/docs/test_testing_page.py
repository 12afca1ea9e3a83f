"""The test that docs/testing.md shows passes as it stands, in a folder with the files of the page."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page

PAGE = page(ROOT / "docs" / "testing.md")
# A run of pytest inside a run: in this process, because another one imports moto again, which takes seconds.
_APART = ("cacheprovider", "faulthandler", "unraisableexception", "threadexception", "xdist")


def shown_by(
    test: str, files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Run a test that a page shows, in the current folder with the page's files; return what pytest shows."""
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("STEPWIRE_TEMPLATE", str(ROOT / "stack.yaml"))
    monkeypatch.setattr(sys, "path", [*sys.path])

    code = pytest.main(["-q", *(f"-pno:{name}" for name in _APART), test])

    shown = capsys.readouterr().out
    monkeypatch.delitem(sys.modules, Path(test).stem)
    assert code == pytest.ExitCode.OK, shown
    return shown


def test_the_test_of_the_page_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (template,), (bank, test) = PAGE.blocks("yaml"), PAGE.blocks("python")
    monkeypatch.chdir(tmp_path)
    files = {"template.yaml": template, "bank.py": bank, "test_orders.py": test}

    assert "2 passed" in shown_by("test_orders.py", files, monkeypatch, capsys)
