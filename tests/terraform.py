"""The real Terraform, where a machine has it: whether it would format a text, and what an expression of it means.

Neither needs a provider, so nothing is downloaded. A test that needs it has the mark `needs_terraform`.
"""

import subprocess
from base64 import b64decode
from pathlib import Path
from shutil import which
from typing import Final

import pytest

needs_terraform: Final = pytest.mark.skipif(which("terraform") is None, reason="no Terraform on this machine")


def is_formatted(text: str) -> bool:
    """Tell whether Terraform reads a text, and would write it just so."""
    checked = subprocess.run(
        ["terraform", "fmt", "-check", "-"], input=text, text=True, capture_output=True, check=False
    )
    return checked.returncode == 0


def evaluated(expression: str, folder: Path) -> str:
    """Return the text that an expression is, as Terraform evaluates it in an empty folder."""
    (folder / "main.tf").write_text(f"locals {{\n  value = {expression}\n}}\n", encoding="utf-8")
    asked = ["terraform", f"-chdir={folder}", "console"]
    answer = subprocess.run(asked, input="base64encode(local.value)\n", text=True, capture_output=True, check=True)
    return b64decode(answer.stdout.strip().strip('"')).decode()
