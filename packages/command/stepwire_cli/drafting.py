"""Write drafts of manifests to a folder, and show what came of each state machine, or what is wrong with manifests.

The rule: a manifest that is in the folder already is what its owner has reviewed, and is never written over.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from stepwire.json_text import as_object
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.findings import Finding, Severity
from stepwire_cli.settings import reason
from stepwire_cli.wrap.drafts import Draft
from stepwire_cli.wrap.snippets import Tool, snippet
from stepwire_cli.writing import write_new

_COLUMNS: Final = ("tool", "state machine", "fields", "needed", "runs")


class Screen(Protocol):
    """Where people and programs read."""

    as_json: bool

    def say(self, text: str, style: str = "") -> None:
        """Print a line for people."""
        ...

    def error(self, text: str) -> None:
        """Print what is wrong."""
        ...

    def result(self, text: str) -> None:
        """Print a result."""
        ...

    def json(self, value: Any) -> None:
        """Print JSON."""
        ...

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Print a table."""
        ...


@dataclass(frozen=True)
class Wrapped:
    """What came of one state machine."""

    arn: str
    draft: Draft | None
    """None: it cannot be a tool."""
    problems: tuple[str, ...]
    """What its owner must know, one line each."""


@dataclass(frozen=True)
class Place:
    """Where drafts go."""

    folder: Path
    """Where the manifests are."""
    endpoint: str
    """Name of the endpoint's stack."""
    snippet: Tool | None = None
    """What makes the owner's stack, if its lines are wanted."""


def write_and_show(found: Sequence[Wrapped], place: Place, screen: Screen, notes: Sequence[str] = ()) -> None:
    """Write the manifests that are not there yet, and show all.

    Raises:
        CommandError: the folder cannot be written.
    """
    made = [one.draft for one in found if one.draft is not None]
    written = _written(made, place.folder)
    if screen.as_json:
        screen.json([_as_json(one, place.folder) for one in found])
    elif place.snippet is not None:
        for one in made:
            screen.result(snippet(one, place.endpoint, place.snippet))
    else:
        screen.table(_COLUMNS, (_row(one) for one in made))
    for problem in (problem for one in found for problem in one.problems):
        screen.say(problem, "warning")
    for line in _hints(made, place.folder):
        screen.say(line)
    for note in notes:
        screen.say(note)
    kept = len(made) - written
    there = f", {kept} there already" if kept else ""
    screen.say(f"{counted(written, 'manifest')} written to {place.folder}/{there}.")


def _hints(made: Sequence[Draft], folder: Path) -> Iterator[str]:
    for one in made:
        for hint in one.hints:
            where = f", with the lines at the end of {folder / one.name}.yaml" if hint.lines else ""
            yield f"{one.machine.name}: {hint}{where}"


def _written(drafts: Sequence[Draft], folder: Path) -> int:
    """Write the manifests that are not there, of two with one name the first, and return how many."""
    paths = {folder / f"{one.name}.yaml": one.text.encode() for one in reversed(drafts)}
    try:
        missing = {path: text for path, text in paths.items() if not path.exists()}
        write_new(missing)
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {reason(error)}: name another folder with --output.") from None
    return len(missing)


def _row(draft: Draft) -> tuple[str, ...]:
    schema = as_object(draft.manifest["input_schema"])
    counts = (len(schema.get("properties", ())), len(schema.get("required", ())), draft.runs)
    return (draft.name, draft.machine.name, *map(str, counts))


def _as_json(one: Wrapped, folder: Path) -> dict[str, Any]:
    made = one.draft
    if made is None:
        return {"state_machine": one.arn, "tool": None, "problems": list(one.problems)}
    return {
        "state_machine": one.arn,
        "tool": made.name,
        "manifest": made.manifest,
        "file": str(folder / f"{made.name}.yaml"),
        "runs": made.runs,
        "problems": list(one.problems),
        "hints": [{"what": hint.what, "fix": hint.fix, "lines": list(hint.lines)} for hint in made.hints],
    }


def show_findings(found: Sequence[Finding], looked_at: str, screen: Screen) -> int:
    """Print findings, and return the exit code: advice alone is no failure. `looked_at` says what, in words."""
    if screen.as_json:
        names = ("where", "what", "fix", "lines")
        screen.json([{"severity": one.severity.value} | {name: getattr(one, name) for name in names} for one in found])
    else:
        for one in found:
            screen.result(str(one))
        screen.say(f"{looked_at}, {counted(len(found), 'finding')}.", "bad" if found else "good")
    return Exit.FAILED if any(one.severity is not Severity.ADVICE for one in found) else Exit.DONE


def counted(number: int, name: str) -> str:
    """Return a number of things in words."""
    return f"{number} {name}{'' if number == 1 else 's'}"
