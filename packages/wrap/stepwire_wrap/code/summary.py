"""What all uses of an event say together of its members.

The rule: where uses contradict each other, or the code tests for a type or for a missing member, less is said.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import Final

from stepwire_wrap.code.notes import Found
from stepwire_wrap.code.values import JSON_TEXT, Alternative, At, Known, Object, Value
from stepwire_wrap.definitions.handlers import CodeRead
from stepwire_wrap.definitions.reads import ANY, LIST, OBJECT, Use
from stepwire_wrap.definitions.values import EACH, NULL, UNKNOWN, FromInput, Path, literal, record, replaced
from stepwire_wrap.definitions.values import Value as Result

_MOST_NAMED: Final = 12  # members of a JSON text
_LONGEST_SAID: Final = 300  # characters


def reads_of(found: Iterable[Found], type_tested: Set[Path]) -> tuple[CodeRead, ...]:
    """Return the uses of an event, one for each member and more where it is compared with values.

    The uses are in the order of the program.
    """
    by_path: dict[Path, list[Found]] = {}
    for one in found:
        by_path.setdefault(one.path, []).append(one)
    texts = _json_texts(by_path)
    paths = {path for path, uses in by_path.items() if JSON_TEXT not in path and not _is_held(path, uses)}
    sure = {path for path in paths if any(one.is_sure for one in by_path[path])}
    loose = {path for path in type_tested if path} | _contradicted(paths) | _unsure_lists(paths, sure)
    kept = [path for path in paths if not any(path[: len(one)] == one and path != one for one in loose)]
    tested = {path for path in kept if _may_be_missing(by_path[path])}
    reads: list[CodeRead] = []
    for path in sorted(kept, key=list(by_path).index):
        said = "" if path not in texts else f"JSON text of an object with {', '.join(texts[path][:_MOST_NAMED])}."
        may_lack = any(path[: len(one)] == one for one in tested)
        is_within = not any(path[:-1] == one[: len(path) - 1] for one in sure if len(one) >= len(path))
        uses = _uses(path, by_path[path], kept, said, types=ANY if path in loose else _types(path, by_path[path], sure))
        reads += [replace(one, use=_placed(one.use, may_lack=may_lack, is_loose=is_within)) for one in uses]
    return tuple(reads)


def _may_be_missing(uses: list[Found]) -> bool:
    return any(one.tested for one in uses) and not any(one.checked for one in uses)


def result_of(value: Value, changed: Set[Path]) -> Result:
    """Return what a function gives, made of parts of its event."""
    return frozenset(one for alternative in value for one in _result(alternative, changed))


def _result(one: Alternative, changed: Set[Path]) -> Result:
    match one:
        case At(path) if JSON_TEXT not in path and not any(path[: len(at)] == at for at in changed):
            made: Result = frozenset({FromInput(path), *(NULL if path else ())})
            for at in sorted(at for at in changed if at[: len(path)] == path):
                made = replaced(made, at[len(path) :], UNKNOWN)
            return made
        case Object():
            members = {name: result_of(inner, changed) for name, inner in one.members}
            return record(members, result_of(one.base, changed) if one.base else None)
        case Known():
            return literal(one.value)
        case _:
            return UNKNOWN


def _placed(use: Use, *, may_lack: bool, is_loose: bool) -> Use:
    """Return a use as what is known of the whole event allows."""
    return replace(use, must=use.must and not may_lack, tested=may_lack and not use.passed_on, loose=is_loose)


def _is_held(path: Path, uses: list[Found]) -> bool:
    return len(path) > 1 and all(one.held for one in uses)


def _unsure_lists(paths: Set[Path], sure: Set[Path]) -> set[Path]:
    """Return the parts that may be lists, and as well something else."""
    lists = {path[:number] for path in paths for number in range(1, len(path)) if path[number] == EACH}
    certain = {path[:number] for path in sure for number in range(1, len(path)) if path[number] == EACH}
    return lists - certain


def _json_texts(by_path: dict[Path, list[Found]]) -> dict[Path, list[str]]:
    """Return the members of the objects that texts of the event say, by the path of the text."""
    names: dict[Path, dict[str, None]] = {}
    for path in by_path:
        if JSON_TEXT in path[:-1]:
            place = path.index(JSON_TEXT)
            names.setdefault(path[:place], {})[path[place + 1]] = None
    return {path: [name for name in found if name not in (EACH, JSON_TEXT)] for path, found in names.items()}


def _contradicted(paths: Set[Path]) -> set[Path]:
    """Return the parts that are read as a list and as an object."""
    lists = {path[:number] for path in paths for number in range(1, len(path)) if path[number] == EACH}
    return {path[:number] for path in paths for number in range(1, len(path)) if path[number] != EACH} & lists


def _uses(path: Path, found: list[Found], paths: list[Path], said: str, *, types: frozenset[str]) -> Iterator[CodeRead]:
    place = next((one.place for one in found if one.place), "")
    if any(one.passed_on for one in found) and path[-1:] != (EACH,):
        yield CodeRead(path, Use(passed_on=True, place="" if not path else place))
    if not path or (path[-1] == EACH and not (types and path[:-1] in paths)):
        return
    must = any(one.must for one in found)
    told = " ".join(" ".join(dict.fromkeys((said, *(one.said for one in found)))).split())[:_LONGEST_SAID]
    defaults = {one.default for one in found if one.default}
    default = defaults.pop() if len(defaults) == 1 else ""
    # They say no type: another value may be of another one.
    known = dict.fromkeys(value for one in found for value in one.compared if isinstance(value, str) and value)
    yield CodeRead(path, Use(must=must, types=types, place=place, said=told, default=default, known=tuple(known)))


def _types(path: Path, found: list[Found], sure: Set[Path]) -> frozenset[str]:
    """Return the types that fit all sure uses; none if there is no such type."""
    structure = _structure(path, sure)
    known = [one.types for one in found if one.types and one.is_sure]
    types = structure
    for one in known:
        if types and not _both(types, one):
            return structure
        types = _both(types, one) if types else one
    return types


def _both(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    """Return the types of both, where an integer is a number."""
    found = set(first & second)
    if ("integer" in first and "number" in second) or ("number" in first and "integer" in second):
        found.add("integer")
    return frozenset(found)


def _structure(path: Path, sure: Set[Path]) -> frozenset[str]:
    inner = [one for one in sure if len(one) > len(path) and one[: len(path)] == path]
    if any(one[len(path)] == EACH and len(one) > len(path) + 1 for one in inner):
        return LIST
    return OBJECT if any(one[len(path)] != EACH for one in inner) else ANY
