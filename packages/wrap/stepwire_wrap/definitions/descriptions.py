"""The first description of a tool, from what people have written of its state machine.

Pure. The rule: what nobody has written (the console's text, a sample's) is not taken if there is anything better; what
is made up here only names the states, in the order in which they run, and the doctor says so.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import JsonObject, as_object, objects_in
from stepwire.manifests.definitions import inside
from stepwire_wrap.wording import fault_of, without_sample_words

COMMENT: Final = "the definition's Comment"
_STACK: Final = "the stack's Description"
_README: Final = "its README"
_LONGEST: Final = 1_000  # characters
_MOST_STATES: Final = 8
_FEWEST_SHOWN: Final = 3  # states; with fewer, those inside them are named too
_FEWEST_WORDS: Final = 4
_OF_A_TEMPLATE: Final = re.compile(r"\b(?:SAM|CloudFormation) template\b", re.IGNORECASE)
_TRACKING: Final = re.compile(r"\s*\((?:uksb|qs|SO)-?\w+\)[^()]*(?:\([^()]*\))?\s*$")
_HEADING: Final = re.compile(r"\s{0,3}(#|=+\s*$|-+\s*$)")
_NO_PROSE: Final = re.compile(
    r"\s*([-*+|>!<]\s|\d+[.)]\s|!\[|\[!|<|\||```|~~~|learn more|important|note\b|\[)", re.IGNORECASE
)
# `- name (string): words`, `name - words`, `"name": "<words>",`
_MEMBER: Final = re.compile(
    r"""\s*(?:[-*+•]\s+|\d+[.)]\s+)?(["'`]|\*\*|)([A-Za-z_][\w-]*)\1(?:\s*\([^()]*\))?(?:\s*[:=]\s+|\s+[-\u2013\u2014]+>?\s+)(\S.*)"""
)
_FEWEST_IN_A_VALUE: Final = 4  # words; fewer between quotation marks are an example
_LONGEST_OF_A_MEMBER: Final = 300  # characters
_ANNOUNCES: Final = re.compile(r"(?:^|(?<=[.!?])\s)[^.!?]*:$")  # a list, which is not part of the paragraph
_MARKUP: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`_]{1,3}(?=\S)|(?<=\S)[*`_]{1,3}(?!\w)")


@dataclass(frozen=True)
class Words:
    """What people have written of a state machine outside its definition."""

    description: str = ""
    """Of the state machine itself."""
    stack: str = ""
    """Name of its stack; without one, that of its folder."""
    stack_description: str = ""
    readme: str = ""
    """The README beside it, whole, as Markdown."""
    is_alone: bool = True
    """Whether the stack, or the folder, has no other state machine, so that what is said of it is said of this one."""


@dataclass(frozen=True)
class Described:
    """A description, and where it is from."""

    text: str
    source: str
    """Such as `the definition's Comment`; empty: nobody has written it."""


def described(machine: str, definition: JsonObject, words: Words) -> Described:
    """Return the first that says what the workflow is for; else what its states are called, as they run."""
    for source, text in _written(definition, words):
        whole = _TRACKING.sub("", " ".join(text.split()))[:_LONGEST]
        if whole and fault_of(whole, machine) is None:
            if not words.is_alone and source in (_STACK, _README):
                whole = f"{_ended(whole)} {_of_states(machine, definition)}"
            return Described(whole[:_LONGEST], source)
    return Described(_of_states(machine, definition)[:_LONGEST], "")


def _written(definition: JsonObject, words: Words) -> Iterator[tuple[str, str]]:
    comment = definition.get("Comment")
    comment = comment if isinstance(comment, str) else ""
    yield COMMENT, comment
    yield "the state machine's description", words.description
    sources = [(_STACK, words.stack_description), (_README, first_paragraph(words.readme))]
    yield from reversed(sources) if _OF_A_TEMPLATE.search(words.stack_description) else sources
    if len((rest := without_sample_words(comment)).split()) >= _FEWEST_WORDS:
        yield COMMENT, f"A workflow {rest}"


def with_described_members(schema: JsonObject, definition: JsonObject) -> JsonObject:
    """Return the schema of the input, with what the lines of the definition's Comment say of its members."""
    comment, members = definition.get("Comment"), as_object(schema.get("properties"))
    said = _said_of_members(comment if isinstance(comment, str) else "")
    if said.keys().isdisjoint(members):
        return schema
    words = {
        name: f"{said[name]} {one.get('description', '')}".strip() for name, one in members.items() if name in said
    }
    described = {
        name: {**one, **({"description": words[name]} if name in words else {})} for name, one in members.items()
    }
    return {**schema, "properties": described}


def _said_of_members(comment: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for line in comment.splitlines():
        if (member := _MEMBER.fullmatch(line)) is not None and (text := _words_of(member[3].strip())):
            found.setdefault(member[2], _ended(text[:1].upper() + text[1:]))
    return found


def _words_of(value: str) -> str:
    """Return what is said, without the marks around it; empty: it is an example or a type."""
    value = value.removesuffix(",").rstrip()
    is_quoted = value[:1] in "\"'`" and value[-1:] == value[:1]
    inner = value[1:-1].strip() if is_quoted else value
    is_meant = inner.startswith("<") and inner.endswith(">")
    text = inner[1:-1].strip() if is_meant else inner
    fewest = _FEWEST_IN_A_VALUE if is_quoted and not is_meant else 2
    is_prose = len(re.findall(r"[^\W\d_]{2,}", text)) >= fewest and text.isprintable() and text[0] not in "[{"
    return text[:_LONGEST_OF_A_MEMBER] if is_prose else ""


def first_paragraph(markdown: str) -> str:
    """Return the first paragraph of prose, without its markup; empty if there is none."""
    is_code = False
    for block in re.split(r"\n\s*\n", markdown.replace("\r", "")):
        fences = len(re.findall(r"^\s*(?:```|~~~)", block, re.MULTILINE))
        lines = [line for line in block.split("\n") if not _HEADING.match(line)]
        text = _ANNOUNCES.sub("", " ".join(" ".join(lines).split()))
        if not is_code and not fences and text and not _NO_PROSE.match(text):
            return _MARKUP.sub(lambda found: found[1] or "", text)
        is_code ^= fences % 2 == 1
    return ""


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _of_states(machine: str, definition: JsonObject) -> str:
    names = in_order(definition)
    more = f" and {len(names) - _MOST_STATES} more" if len(names) > _MOST_STATES else ""
    return f"Runs the workflow {machine}: {', '.join(names[:_MOST_STATES])}{more}."


def in_order(definition: JsonObject) -> list[str]:
    """Return the names of the states in the order in which they run; error handlers come last."""
    names = _order(definition)
    if len(names) < _FEWEST_SHOWN:
        return [one for name in names for one in (name, *_inner(as_object(_states(definition)[name])))]
    return names


def _inner(state: JsonObject) -> Iterator[str]:
    for one in inside(state):
        yield from _order(one)


def _states(definition: JsonObject) -> Mapping[str, JsonObject]:
    return {name: as_object(one) for name, one in as_object(definition.get("States")).items()}


def _order(definition: JsonObject) -> list[str]:
    states = _states(definition)
    known: dict[str, None] = {}
    errors: list[str] = []
    _walk(str(definition.get("StartAt")), states, known, errors)
    for name in errors:  # it grows
        _walk(name, states, known, errors)
    return [*known, *(name for name in states if name not in known)]


def _walk(start: str, states: Mapping[str, JsonObject], known: dict[str, None], errors: list[str]) -> None:
    """Add the states that follow one another from `start`, those of a first choice before those of the second."""
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in known or name not in states:
            continue
        known[name] = None
        state = states[name]
        waiting += reversed([str(to) for to in _next(state)])
        errors += [str(one.get("Next")) for one in objects_in(state.get("Catch"))]


def _next(state: JsonObject) -> Iterable[object]:
    yield from (one.get("Next") for one in objects_in(state.get("Choices")))
    yield from (state[name] for name in ("Next", "Default") if name in state)
