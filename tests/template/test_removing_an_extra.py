"""What belongs to an extra is found by its name: a made-up extra is removed from a small made-up checkout."""

from pathlib import Path
from typing import Final

import pytest

from tests.template.extras import COMPOSITION, mentions, remove

TABLE: Final = '''"""The table of extras."""

EXTRAS = {
    "taste": ("taste_soup",),
    "colour": (),  # before those that it may show
    "colour_blind": (),
}
'''
BEFORE: Final = {
    COMPOSITION.as_posix(): TABLE,
    "layers/stepwire/stepwire/extras/__init__.py": "",
    "layers/stepwire/stepwire/extras/colour/__init__.py": "EXTRA = 1\n",
    "layers/stepwire/stepwire/extras/colour/rules.py": "RED = 1\n",
    "layers/stepwire/stepwire/extras/colour_blind/__init__.py": "EXTRA = 2\n",
    "packages/command/stepwire_cli/extras/colour.py": "",
    "packages/command/stepwire_cli/extras/taste.py": "",
    "functions/extras/colour/app.py": "",
    "tests/extras/colour/requirements.csv": "row\nC1\n",
    "tests/extras/colour/with_taste/test_red_soup.py": "",
    "tests/extras/colour_blind/with_colour/test_red.py": "from stepwire.extras.colour import rules\n",
    "tests/extras/taste/with_colour.py": "from stepwire.extras.colour import rules\n",
    "tests/extras/taste/with_colour_blind.py": "",
    "extras/taste/with_colour_and_smell.yaml": "",
    "extras/taste/with_colour_blind_and_smell.yaml": "",
    "tests/with_colour.py": "",
    "docs/extras/colour.md": "# Colours\n",
    "docs/README.md": "# Pages\n\n- [Colours](extras/colour.md) of tasks\n- [Blind](extras/colour_blind.md)\n",
    "docs/colour.md": "<!-- extra colour: begin -->\nRed.\n<!-- extra colour: end -->\nNo colours.\n",
    "mkdocs.yml": "nav:\n  - extras/colour.md\n  - README.md\n",
    "template.yaml": "A: 1\n  # extra colour: begin\nB:\n  C: functions/extras/colour/\n  # extra colour: end\nD: 3\n",
    "pyproject.toml": 'modules = [\n    "stepwire.extras.colour",\n    "stepwire.extras.taste",\n]\n',
    "Makefile": "a:\n\ttrue\n# extra colour: begin\nb:\n\ttrue\n# extra colour: end\n",
    "tests/longest.csv": "tests/extras/colour/test_red.py,20\ntests/test_all.py,30\n",
}
AFTER: Final = {
    COMPOSITION.as_posix(): TABLE.replace('    "colour": (),  # before those that it may show\n', ""),
    "layers/stepwire/stepwire/extras/__init__.py": "",
    "layers/stepwire/stepwire/extras/colour_blind/__init__.py": "EXTRA = 2\n",
    "packages/command/stepwire_cli/extras/taste.py": "",
    "tests/extras/taste/with_colour_blind.py": "",
    "extras/taste/with_colour_blind_and_smell.yaml": "",
    "tests/with_colour.py": "",
    "docs/README.md": "# Pages\n\n- [Blind](extras/colour_blind.md)\n",
    "docs/colour.md": "No colours.\n",
    "mkdocs.yml": "nav:\n  - README.md\n",
    "template.yaml": "A: 1\nD: 3\n",
    "pyproject.toml": 'modules = [\n    "stepwire.extras.taste",\n]\n',
    "Makefile": "a:\n\ttrue\n",
    "tests/longest.csv": "tests/test_all.py,30\n",
}


def checkout(root: Path, more: dict[str, str] | None = None) -> Path:
    for name, text in {**BEFORE, **(more or {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_each_kind_of_place_is_removed_and_nothing_else(tmp_path: Path) -> None:
    root = checkout(tmp_path)

    remove(root, "colour")

    left = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}
    assert left == AFTER
    assert mentions(root, "colour") == []


@pytest.mark.parametrize(
    ("place", "text", "line"),
    [
        ("stepwire/a.py", "from stepwire.extras.colour import rules\n", 1),
        ("stepwire/a.py", "\nfrom stepwire.extras import colour\n", 2),
        ("tests/a.py", 'PATH = "docs/extras/colour.md"\n', 1),
        ("tests/a.json", '{"file": "tests/extras/colour/test_red.py"}\n', 1),
        ("template.yaml", "A:\n  CodeUri: functions/extras/colour/\n", 2),
        ("stepwire/a.py", "# extra colour: begin\nRED = 1\n# extra colour: end\n", 1),
        ("stepwire/a.py", "# extra taste or colour: begin\nRED = 1\n# extra taste or colour: end\n", 1),
    ],
)
def test_a_line_that_still_names_it_is_found(tmp_path: Path, place: str, text: str, line: int) -> None:
    root = checkout(tmp_path, {place: text})

    remove(root, "colour")

    assert mentions(root, "colour")[0].startswith(f"{place}:{line}: ")


@pytest.mark.parametrize(
    "text",
    [
        "# extra colour: begin\n",
        "# extra colour: end\n",
        "# extra colour: begin\n# extra colour: begin\n# extra colour: end\n",
    ],
)
def test_a_block_that_is_not_closed_is_refused(tmp_path: Path, text: str) -> None:
    root = checkout(tmp_path, {"template.yaml": text})

    with pytest.raises(ValueError, match="extra colour"):
        remove(root, "colour")


def test_what_several_share_goes_with_the_last_of_them(tmp_path: Path) -> None:
    block = "# extra colour or taste: begin\nB: 2\n# extra colour or taste: end\n"
    folder = "layers/extras/colour_or_taste"
    root = checkout(tmp_path, {"template.yaml": f"A: 1\n{block}", f"{folder}/Makefile": "a:\n\ttrue\n"})

    remove(root, "colour")
    assert (root / "template.yaml").read_text() == f"A: 1\n{block}".replace("colour or ", "")
    assert (root / folder).is_dir()
    assert mentions(root, "colour") == []

    remove(root, "taste")
    assert (root / "template.yaml").read_text() == "A: 1\n"
    assert not (root / folder).exists()


def test_an_extra_that_the_table_does_not_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 lines of the extra sound"):
        remove(checkout(tmp_path), "sound")
