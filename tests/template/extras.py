"""Remove an extra from a checkout, as its owner would: `python -m tests.template.extras NAME ...`.

What belongs to an extra is found by its name alone: each folder `extras/NAME` and file `extras/NAME.*`, each folder
`with_NAME` and file `with_NAME.*` below that of another extra (or `with_NAME_and_OTHER.*`), its line in
`stepwire/composition.py`, blocks between the marker lines `extra NAME: begin` and `extra NAME: end`, and single lines
of a document or table that name one of its paths. A block of several, `extra NAME or OTHER: begin`, goes with the
last of them, and so does a folder `extras/NAME_or_OTHER`. No other line of Python is touched: the core names no
extra.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

COMPOSITION: Final = Path("layers/stepwire/stepwire/composition.py")
GENERATED: Final = (
    ("-m", "stepwire_cli.deployment.parts"),
    ("-m", "tests.docs.manifest_pages"),
    ("-m", "tests.docs.audit_schema"),
    ("-m", "packages.command.tests.cli_page"),
    ("-m", "tests.docs.promised", "--major"),
    ("-m", "tests.faults", "--new"),
    ("-m", "benchmarks.cost", "--update", "idle", "peers"),
    ("-m", "tests.docs.numbers"),
)
"""The commands that write the stack's template, pages and records from the rest: the arguments of Python."""
_NOT_OURS: Final = re.compile(r"\.git|\.venv.*|\.aws-sam|\.site|node_modules|__pycache__|\..*_cache")
_WITH_BLOCKS: Final = (".md", ".yaml", ".yml", ".toml", "Makefile")
_WITH_LINES: Final = (".md", ".toml", ".csv", "mkdocs.yml")
_MARK: Final = re.compile(r"\s*(?:#|<!--) extra (\w+(?: or \w+)*): (begin|end)(?: -->)?\s*")
_TEXTS: Final = (*_WITH_BLOCKS, *_WITH_LINES, ".py", ".json")


def remove(root: Path, name: str) -> None:
    """Remove an extra from the checkout below `root`.

    Raises:
        ValueError: the table does not list it in a line of its own, or a block has no end.
    """
    table = without_its_line((root / COMPOSITION).read_text(encoding="utf-8"), name)
    parts = " ".join(
        f'"{path.parent.name}"' for path in (root / "extras").glob("*/template.yaml") if path.parent.name != name
    )
    for path in list(paths_of(root, name, table + parts)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    _rewrite(root / COMPOSITION, table)
    for path in texts(root):
        text = path.read_text(encoding="utf-8")
        if path.name.endswith(_WITH_BLOCKS):
            text = without_blocks(text, name)
        if path.name.endswith(_WITH_LINES):
            text = "".join(line for line in text.splitlines(keepends=True) if not _path(name).search(line))
        _rewrite(path, text)


def paths_of(root: Path, name: str, others: str = "") -> Iterator[Path]:
    """Yield the folders and files of an extra, and those in which another extra meets it.

    `others`: a text that names others in quotes; what the extra shares with one of these is not yielded.
    """

    def is_its(owner: str) -> bool:
        if name in owner.split("_and_"):
            return True
        owners = owner.split("_or_")
        return name in owners and not any(f'"{one}"' in others for one in owners if one != name)

    for folder, inner, files in _walk(root):
        if "extras" in folder.relative_to(root).parts:
            prefix = "" if folder.name == "extras" else "with_"
            names = (one for one in (*inner, *files) if one.startswith(prefix))
            yield from (folder / one for one in names if is_its(one.partition(".")[0].removeprefix(prefix)))


def texts(root: Path) -> Iterator[Path]:
    """Yield the files in which an extra may be named."""
    for folder, _, files in _walk(root):
        yield from (folder / one for one in sorted(files) if one.endswith(_TEXTS))


def mentions(root: Path, name: str, suffix: str = "") -> list[str]:
    """Return the lines that name a path of an extra, or mark a block of it; of files whose names end so."""
    of_it = re.compile(rf"{_path(name).pattern}|\bextras import .*\b{name}\b|\bextra (?:\w+ or )*{name}(?: or \w+)*:")
    return [
        f"{path.relative_to(root)}:{number}: {line}"
        for path in texts(root)
        if path.name.endswith(suffix)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if of_it.search(line)
    ]


def without_its_line(table: str, name: str) -> str:
    """Return the source of the table without the line of an extra."""
    found, count = re.subn(rf'^ *"{name}"[:,].*\n', "", table, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{COMPOSITION} has {count} lines of the extra {name}; it must have one")
    return found


def without_blocks(text: str, name: str) -> str:
    """Return a text without the marked blocks of an extra.

    Raises:
        ValueError: a block begins twice, or ends before it begins, or does not end.
    """
    kept, is_inside = list[str](), False
    for line in text.splitlines(keepends=True):
        mark = _MARK.fullmatch(line)
        owners = mark[1].split(" or ") if mark else []
        if mark and owners == [name]:
            if (mark[2] == "begin") is is_inside:
                raise ValueError(f"the blocks of the extra {name} are not in order: {line.strip()}")
            is_inside = not is_inside
        elif not is_inside:
            others = " or ".join(one for one in owners if one != name)
            kept.append(line.replace(mark[1], others) if mark else line)
    if is_inside:
        raise ValueError(f"a block of the extra {name} does not end")
    return "".join(kept)


def _path(name: str) -> re.Pattern[str]:
    return re.compile(rf"\bextras[./]{name}\b(?!-)")


def _rewrite(path: Path, text: str) -> None:
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(one for one in inner if not _NOT_OURS.fullmatch(one))
        yield Path(folder), inner, files


if __name__ == "__main__":
    for extra in sys.argv[1:]:
        remove(Path.cwd(), extra)
    for command in GENERATED:
        subprocess.run((sys.executable, *command), check=True)
