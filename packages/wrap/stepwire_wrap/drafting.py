"""Write drafts of manifests to a folder, and show what came of each state machine, or what is wrong with manifests.

The rule: a manifest that is in the folder already is what its owner has reviewed, and is never written over.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from stepwire.json_text import Json, as_object, write
from stepwire_wrap.definitions.deciders import chosen_in
from stepwire_wrap.definitions.drafts import Draft
from stepwire_wrap.definitions.hints import Hint
from stepwire_wrap.definitions.snippets import Tool, snippet
from stepwire_wrap.exits import Exit, WrapError
from stepwire_wrap.files.texts import Unreadable, value_of
from stepwire_wrap.findings import Finding, Severity
from stepwire_wrap.writing import reason, write_new

_COLUMNS: Final = ("tool", "state machine", "properties", "required", "runs")


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
    rewrites: bool = False
    """Whether these lines go into the owner's own files."""
    doctor: str = ""
    """The command that checks manifests, if it is the next step."""


def write_and_show(found: Sequence[Wrapped], place: Place, screen: Screen, notes: Sequence[str] = ()) -> None:
    """Write the manifests that are not there yet, and show all.

    Raises:
        WrapError: the folder cannot be written.
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
    kept = len(made) - written
    there = f", {kept} there already" if kept else ""
    lines = [*lines_of_hints(made, place.folder), *_without_others(made, place.folder), *notes]
    lines += [f"{counted(written, 'manifest')} written to {place.folder}/{there}.", *lines_of_ways(made)]
    if written and place.doctor and not screen.as_json:
        checks = f"{place.doctor} {shlex.quote(str(place.folder))}"
        lines += [f"Next: review {'it' if written == 1 else 'them'}; `{checks}` says what is left to correct."]
    for line in lines:
        screen.say(line)


def lines_of_hints(made: Sequence[Draft], folder: Path | None = None) -> Iterator[str]:
    """Yield the hints to drafts, with the place of their lines if these are in the manifests of a folder."""
    for one in made:
        for hint in one.hints:
            where = f", with the lines at the end of {folder / one.name}.yaml" if hint.lines and folder else ""
            yield f"{one.machine.name}: {hint}{where}"


def lines_of_ways(made: Sequence[Draft]) -> Iterator[str]:
    """Yield what can be chosen for the states that wait for a person; once, however many there are."""
    first = next((hint for one in made for hint in one.undecided), None)
    if first is not None:
        yield (
            "Left to choose: who decides where a state waits for a person. Until you choose, it stays as it is. "
            "To choose, run this again with one of these options:"
        )
        yield from (f"  {one}." for one in first.ways)


def _without_others(made: Sequence[Draft], folder: Path) -> Iterator[str]:
    """Yield what is missing in the manifests that were there before others were chosen to decide."""
    for one in made:
        path = folder / f"{one.name}.yaml"
        for name, chosen in chosen_in(one.manifest).items():
            if name not in as_object(_value_of(path)):
                yield f"{path} is there already: add {name}: {write(chosen)}"


def _value_of(path: Path) -> Json:
    try:
        return value_of(path)
    except Unreadable:
        return None


def _written(drafts: Sequence[Draft], folder: Path) -> int:
    """Write the manifests that are not there, of two with one name the first, and return how many.

    One that nobody has touched since gets what its owner has said of who decides.
    """
    paths = {folder / f"{one.name}.yaml": one for one in reversed(drafts)}
    try:
        missing = {path: one.text.encode() for path, one in paths.items() if not path.exists()}
        old = {path: one for path, one in paths.items() if one.earlier and path not in missing}
        decided = {path: one.text.encode() for path, one in old.items() if path.read_bytes() == one.earlier.encode()}
        write_new(missing, decided)
    except OSError as error:
        raise WrapError(f"{folder} cannot be written: {reason(error)}: name another folder with --output.") from None
    return len(missing) + len(decided)


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
        "hints": [_hint_as_json(one) for one in made.hints],
    }


def _hint_as_json(hint: Hint) -> dict[str, Any]:
    ways = [{"who": one.who, "means": one.meaning, "option": one.option} for one in hint.ways]
    return {"what": hint.what, "fix": hint.fix, "lines": list(hint.lines), "ways": ways}


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
