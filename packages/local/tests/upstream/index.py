"""The index of the texts for moto's authors: `python -m` this writes it into their README."""

from pathlib import Path
from typing import Final

from packages.local.tests.upstream.reproductions import FOLDER, texts
from stepwire_local.account import moto_patches

PAGE: Final = FOLDER / "README.md"
_HEAD: Final = "| Patch | In `moto_patches/` | Title | State |\n|---|---|---|---|\n"


def written() -> str:
    """Return the page with the table of the texts that there are; its words stay as they are."""
    words, _, _ = PAGE.read_text(encoding="utf-8").partition(_HEAD)
    return words + _HEAD + "".join(_rows())


def _rows() -> list[str]:
    return [
        f"| [`{text.patch}`]({text.patch}.md) | `{_file(text.patch)}` | {text.title} | {text.state} |\n"
        for text in texts()
    ]


def _file(patch: str) -> str:
    return Path(moto_patches.PATCHES[patch].__code__.co_filename).name


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
