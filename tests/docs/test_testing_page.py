"""The test that docs/testing.md shows passes as it stands, in a folder with the files of the page."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, page

PAGE = page(ROOT / "docs" / "testing.md")


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    (template,), (bank, test) = PAGE.blocks("yaml"), PAGE.blocks("python")
    for name, text in (("template.yaml", template), ("bank.py", bank), ("test_orders.py", test)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py"]

    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "STEPWIRE_TEMPLATE": str(ROOT / "template.yaml")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
