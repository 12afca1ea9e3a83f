"""Put drafts into their owner's templates and definitions: show the difference, ask, and write all or nothing.

The rule: nothing is written before its owner has seen it and said yes. What could not be put there is named, and its
lines are printed as without `--write`.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from stepwire.errors import CatalogError
from stepwire.json_text import as_object
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.definitions.drafts import Draft
from stepwire_wrap.definitions.snippets import Tool, snippet
from stepwire_wrap.drafting import Place, Screen, Wrapped, counted, lines_of_hints, lines_of_ways
from stepwire_wrap.exits import WrapError
from stepwire_wrap.files.changes import Rewriting
from stepwire_wrap.files.templates import FoundMachine
from stepwire_wrap.files.texts import Unreadable, text_of, value_of
from stepwire_wrap.writing import reason, write_new


def rewrite(
    found: Sequence[tuple[FoundMachine, Wrapped]], place: Place, screen: Screen, agree: Callable[[str], bool]
) -> bool:
    """Put drafts into files, and tell whether all is there now.

    Raises:
        WrapError: a file cannot be written; then none is.
    """
    made = [(machine, one.draft) for machine, one in found if one.draft is not None]
    rewriting, left, incomplete = Rewriting(place.endpoint), list[str](), list[Draft]()
    for machine, draft in made:
        try:
            lines = rewriting.add(machine, reviewed := _reviewed(draft, place.folder))
        except (CatalogError, Unreadable) as error:
            lines, reviewed = [f"{place.folder / draft.name}.yaml: {error}"], draft
        left += [f"{draft.machine.name}: {one}" for one in lines]
        incomplete += [reviewed] if lines else []
    for problem in (problem for _, one in found for problem in one.problems):
        screen.say(problem, "warning")
    drafts = [draft for _, draft in made]
    for line in (*lines_of_hints(drafts), *lines_of_ways(drafts)):
        screen.say(line)
    is_written = _written(rewriting, screen, agree)
    for line in left:
        screen.error(f"{line}. Do this by hand")
    if not screen.as_json:
        for draft in incomplete:
            screen.result(snippet(draft, place.endpoint, place.snippet or Tool.SAM) + draft.proposals)
    return is_written and not left and len(made) == len(found)


def _reviewed(draft: Draft, folder: Path) -> Draft:
    """Return a draft with the manifest that its owner has in the folder, if there is one.

    Raises:
        Unreadable: it cannot be read.
        CatalogError: it is no manifest.
    """
    path = folder / f"{draft.name}.yaml"
    if not path.exists() or (text := text_of(path)) in (draft.text, draft.earlier):
        return draft
    read_manifest(text)
    proposals = draft.proposals if text.endswith(draft.proposals) else ""
    return replace(draft, text=text, manifest=as_object(value_of(path)), proposals=proposals)


def _written(rewriting: Rewriting, screen: Screen, agree: Callable[[str], bool]) -> bool:
    """Show the difference, ask, and write; tell whether nothing is left to write."""
    changed = rewriting.changed
    if screen.as_json:
        screen.json([{"file": str(path), "difference": "".join(_difference(rewriting, path))} for path in changed])
    for path in () if screen.as_json else changed:
        screen.result("".join(_difference(rewriting, path)))
    if not changed:
        screen.say("Nothing to change.")
        return True
    names = " and ".join(map(str, changed))
    if not agree(f"Write this to {names}?"):
        screen.error(f"nothing was written to {names}; --yes writes it")
        return False
    _write(changed)
    screen.say(f"{counted(len(changed), 'file')} changed: {names}.")
    return True


def _difference(rewriting: Rewriting, path: Path) -> Iterator[str]:
    before, after = (
        [f"{line}\n" for line in text.splitlines()] for text in (rewriting.before[path], rewriting.texts[path])
    )
    yield from difflib.unified_diff(before, after, str(path), str(path))


def _write(changed: Mapping[Path, str]) -> None:
    try:
        write_new({}, {path: text.encode() for path, text in changed.items()})
    except OSError as error:
        raise WrapError(f"{error.filename} cannot be written: {reason(error)}. Nothing was changed.") from None
