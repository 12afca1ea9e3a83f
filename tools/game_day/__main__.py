"""Run the game day on the local stack: `python -m tools.game_day`, and with --update write it into docs/game_day.md."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from stepwire.principal import PRINCIPAL_PATTERN
from stepwire_local.lambdas.function_output import FOLDER, kept_in
from tools.game_day.night import Night, night
from tools.game_day.scenes import SCENES

PAGE: Final = Path(__file__).parents[2] / "docs" / "game_day.md"
BEGIN, END = "<!-- scenes -->\n", "<!-- end -->\n"


@dataclass(frozen=True)
class Played:
    """A scene that was played."""

    name: str
    typed: tuple[str, ...]
    not_run: tuple[str, ...]
    """What an operator does on AWS besides."""
    seen: str
    seconds: float
    """Of this machine, from the fault to the last command's end."""

    def row(self) -> str:
        """Return its row of the page; what was not run has no time."""
        typed = "<br>".join(
            [*(f"`{line}`" for line in self.typed), *(f"*not run here:* {one}" for one in self.not_run)]
        )
        took = "not timed" if self.not_run else f"{self.seconds:.0f} s"
        return f"| {self.name} | {typed} | {self.seen} | {took} |"


def played(names: Sequence[str], folder: Path) -> Iterator[Played]:
    """Play scenes in one night, and yield each."""
    with night(folder) as at:
        for name in names:
            operator = at.operator
            operator.typed.clear()
            operator.not_run.clear()
            began = time.monotonic()
            seen = SCENES[name](at)
            typed = tuple(_plain(line, at) for line in operator.typed)
            yield Played(name, typed, tuple(operator.not_run), seen, time.monotonic() - began)


def _plain(line: str, at: Night) -> str:
    """Return a line without what differs each time."""
    line = line.replace(f"{at.folder}/", "").replace(at.stack.url, "$URL")
    return " ".join(_word(word) for word in line.split(" "))


def _word(word: str) -> str:
    if PRINCIPAL_PATTERN.fullmatch(word):
        return "HASH"
    return "TASK" if len(word) == _ID and word.isalnum() else word


_ID: Final = 36


def shown_in(page: str) -> list[str]:
    """Return the rows of the page."""
    return page.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.game_day", description=__doc__)
    parser.add_argument("--update", action="store_true", help=f"write the table of {PAGE.name}")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, kept_in(FOLDER, "game-day"):
        rows = [one.row() for name in SCENES for one in played([name], Path(folder))]
    head = "| what happened | what the operator typed | what was seen, by the endpoint's clock | this machine took |"
    table = "\n".join([head, "|---|---|---|--:|", *rows])
    if options.update:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{table}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    sys.stdout.write(f"{table}\n")


if __name__ == "__main__":
    main()
