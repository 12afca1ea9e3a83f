"""What counts as a change of a folder with sources."""

from pathlib import Path

import pytest

from stepwire_local.cloudformation.files import signature


@pytest.mark.parametrize(
    ("name", "is_noticed"),
    [
        ("app.py", True),
        ("tools/refund.yaml", True),
        # Another stack of this checkout writes them when it starts.
        ("catalog.json", False),
        ("release_tools.json", False),
        (".catalog.json.17", False),
        ("__pycache__/app.cpython-313.pyc", False),
        ("node_modules/.package-lock.json", False),
    ],
)
def test_a_new_file_is_a_change_unless_it_was_made_from_the_others(name: str, is_noticed: bool, tmp_path: Path) -> None:
    before = signature(tmp_path)

    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("new", encoding="utf-8")

    assert (signature(tmp_path) != before) is is_noticed
