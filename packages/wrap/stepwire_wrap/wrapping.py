"""Describe the state machines of files and folders as tools, without an account."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepwire.json_text import JsonObject, as_object
from stepwire_wrap.deciding import NOBODY_SAYS, Deciding, decided
from stepwire_wrap.definitions.descriptions import Words
from stepwire_wrap.definitions.drafts import History, Machine, TooDeepError, draft
from stepwire_wrap.definitions.names import is_generic, tool_name
from stepwire_wrap.drafting import Place, Screen, Wrapped, write_and_show
from stepwire_wrap.exits import Exit, WrapError
from stepwire_wrap.files.finding import contents_of
from stepwire_wrap.files.handlers import Reader
from stepwire_wrap.files.templates import Fault, FoundMachine
from stepwire_wrap.files.texts import Unreadable, text_of
from stepwire_wrap.rewriting import rewrite

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 80
_PATH: Final = (".json", ".yaml", ".yml", ".asl", ".template")


def is_path(text: str) -> bool:
    """Tell whether an argument names a file or a folder, and not a state machine of an account."""
    if text.startswith("arn:"):
        return False
    return "/" in text or "\\" in text or text in (".", "..") or text.endswith(_PATH) or Path(text).exists()


def wrap(
    paths: Sequence[Path],
    place: Place,
    screen: Screen,
    deciding: Deciding = NOBODY_SAYS,
    agree: Callable[[str], bool] = lambda _question: False,
) -> int:
    """Write the manifests of the state machines in files and folders, or put all into their owner's templates.

    Raises:
        WrapError: a path does not exist, or none has a state machine.
    """
    try:
        found = contents_of(paths)
    except Unreadable as error:
        raise WrapError(f"{error}: write the path of a definition, a template or a folder.") from None
    if not found.machines and not found.faults:
        named = ", ".join(map(str, paths))
        raise WrapError(
            f"{named} has no state machine: neither a definition (StartAt, States) nor a template with one.",
            Exit.UNKNOWN,
        )
    wrapped = [*decided(_wrapped(found.machines), deciding, screen), *map(_not_wrapped, found.faults)]
    express = [one.draft.machine.name for one in wrapped if one.draft is not None and one.draft.machine.is_express]
    notes = [f"Of type EXPRESS, so plain tools without tasks: {', '.join(express)}."] if express else []
    if place.rewrites:
        is_done = rewrite([*zip(found.machines, wrapped, strict=False)], place, screen, agree)
        return Exit.DONE if is_done and not found.faults else Exit.FAILED
    write_and_show(wrapped, place, screen, notes)
    return Exit.FAILED if found.faults else Exit.DONE


def _not_wrapped(fault: Fault) -> Wrapped:
    return Wrapped(fault.where, None, (f"{fault.where}: {fault.what}",))


def _wrapped(machines: Sequence[FoundMachine]) -> list[Wrapped]:
    taken: set[str] = set()
    reader = Reader()
    results: list[Wrapped] = []
    for one in machines:
        title = title_of(one)
        name = tool_name(title, taken)
        taken.add(name)
        try:
            made = draft(name, machine_of(one, title, reader), History())
        except TooDeepError as error:
            results.append(Wrapped(str(one.path), None, (f"{one.path}: {error}",)))
            continue
        told = made.conflicts
        results.append(Wrapped(str(one.path), made, tuple(f"{one.path}: {line}" for line in told)))
    if results and reader.problems:
        results[-1] = replace(results[-1], problems=(*results[-1].problems, *reader.problems))
    return results


def title_of(found: FoundMachine) -> str:
    """Return what to call a state machine: the first name that says more than that it is one."""
    titles = [*found.title, *(() if found.template is None else (found.template.path.resolve().parent.name,))]
    return next((one for one in titles if not is_generic(one)), titles[0])


def machine_of(found: FoundMachine, title: str, reader: Reader) -> Machine:
    """Return a state machine of a file as an account would describe it; a placeholder stands for an unknown name."""
    name = found.name or found.logical_id or _NO_NAME.sub("-", title).strip("-") or "StateMachine"
    name = name[:_LONGEST_NAME]
    return Machine(
        name, name, found.definition, found.is_express, handlers=reader.handlers_of(found), words=words_of(found),
        is_json=found.is_json, placeholder=_placeholder(found), logical_id=found.logical_id,
        parameters=frozenset() if found.template is None else found.template.parameters,
    )  # fmt: skip


def words_of(found: FoundMachine) -> Words:
    """Return what people have written of a state machine: its template's Description, the README beside it."""
    if found.template is None:
        return Words(stack=found.project.name, readme=_readme(found.project))
    description = found.template.body.get("Description")
    return Words(
        stack=found.template.path.resolve().parent.name,
        stack_description=description if isinstance(description, str) else "",
        readme=_readme(found.template.path.parent),
        is_alone=sum(1 for _ in found.template.machines()) == 1,
    )


def _readme(folder: Path) -> str:
    for one in sorted(folder.glob("[Rr][Ee][Aa][Dd][Mm][Ee].md")):
        try:
            return text_of(one)
        except Unreadable:
            return ""
    return ""


def _placeholder(found: FoundMachine) -> str:
    if found.name is not None:
        return ""
    meant = "the logical id in its template" if found.logical_id else f"made of {found.path.name}"
    return f"{meant}: write its name or its ARN; --snippet refers to it"


def start_fault(definition: JsonObject) -> str | None:
    """Return what is wrong with where a definition starts."""
    start = definition.get("StartAt")
    is_known = isinstance(start, str) and start in as_object(definition.get("States"))
    return None if is_known else f"StartAt names no state: {str(start)[:80]!r}"
