"""JSONPath: payload templates (`Parameters`, `ResultSelector`, `Assign`) and intrinsic functions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from stepwire.json_text import Json, JsonObject
from stepwire_wrap.definitions.paths import reference_of
from stepwire_wrap.definitions.reads import ANY, FLAG, LIST, OBJECT, TEXT, WHOLE, Use
from stepwire_wrap.definitions.scopes import Scope
from stepwire_wrap.definitions.services import Member
from stepwire_wrap.definitions.values import UNKNOWN, Value, literal, merged, part, record

_DEEPEST: Final = 20  # calls inside calls; Step Functions takes 10
_SHOWN: Final = 60  # characters of an expression in a message
_DYNAMIC: Final = ".$"
_CALL: Final = re.compile(r"\s*(States\.\w+)\s*\(", re.DOTALL)
# What the arguments of the intrinsic functions must be; the last one stands for all that follow.
_ARGUMENTS: Final[dict[str, tuple[frozenset[str], ...]]] = {
    "States.Array": (ANY,),
    "States.ArrayContains": (LIST, ANY),
    "States.ArrayGetItem": (LIST, WHOLE),
    "States.ArrayLength": (LIST,),
    "States.ArrayPartition": (LIST, WHOLE),
    "States.ArrayRange": (WHOLE,),
    "States.ArrayUnique": (LIST,),
    "States.Base64Decode": (TEXT,),
    "States.Base64Encode": (TEXT,),
    "States.Format": (TEXT, ANY),
    "States.Hash": (ANY, TEXT),
    "States.JsonMerge": (OBJECT, OBJECT, FLAG),
    "States.JsonToString": (ANY,),
    "States.MathAdd": (WHOLE,),
    "States.MathRandom": (WHOLE,),
    "States.StringSplit": (TEXT, TEXT),
    "States.StringToJson": (TEXT,),
}


def filled(template: Json, scope: Scope, takes: Member | None = None) -> Value:
    """Return what a payload template makes, and note what it reads."""
    if isinstance(template, list):
        for one in cast(list[Json], template):
            filled(one, scope, takes and takes.item())
        return UNKNOWN
    if not isinstance(template, dict):
        return literal(template)
    members: dict[str, Value] = {}
    for name, one in cast(JsonObject, template).items():
        plain = name.removesuffix(_DYNAMIC)
        inner = takes and takes.member(plain)
        is_dynamic = name.endswith(_DYNAMIC) and isinstance(one, str)
        members[plain] = dynamic(one, scope, inner) if is_dynamic else filled(one, scope, inner)
    return record(members)


def dynamic(text: str, scope: Scope, takes: Member | None = None) -> Value:
    """Return what a path or an intrinsic function gives, and note what it reads."""
    if _CALL.match(text) is not None:
        return _called(text, scope)
    use = Use(must=True, passed_on=True) if takes is None else takes.use()
    return read_path(text, scope, use)


def read_path(text: str, scope: Scope, use: Use) -> Value:
    """Return what a path refers to, and note its use."""
    reference = reference_of(text.strip())
    if reference is None:
        return UNKNOWN
    value = scope.look_up(reference)
    if not reference.is_whole:  # some part of it is read, nobody knows which
        known = scope.look_up(reference_of(_known_part(text)) or reference)
        scope.note(known, Use(must=False, passed_on=True))
        return value
    _note_arrays(text, scope)
    scope.note(value, use)
    return value


def _known_part(text: str) -> str:
    return re.split(r"\.\.|\.\*", text, maxsplit=1)[0]


def _note_arrays(text: str, scope: Scope) -> None:
    """An index or a filter says that what it stands behind is an array."""
    for found in re.finditer(r"\[(?!['\"])", text):
        before = reference_of(text[: found.start()])
        if before is not None and before.is_whole:
            scope.note(scope.look_up(before), Use(types=LIST, must=found[0] == "[" and text[found.end()].isdigit()))


def _called(text: str, scope: Scope, depth: int = 0) -> Value:
    call = _CALL.match(text)
    if call is None:
        return UNKNOWN
    if depth >= _DEEPEST:
        scope.reads.unreadable.append(f"intrinsic functions are nested more than {_DEEPEST} deep: {text[:_SHOWN]}")
        return UNKNOWN
    name, values = call[1], list[Value]()
    wanted = _ARGUMENTS.get(name, (ANY,))
    for number, argument in enumerate(arguments_in(text[call.end() : text.rfind(")")])):
        types = wanted[min(number, len(wanted) - 1)]
        values.append(_argument(argument, scope, types, depth))
    if name == "States.JsonMerge" and len(values) > 1:
        return merged(values[0], values[1])
    if name == "States.ArrayGetItem" and values:
        return part(values[0], ("[]",))
    return UNKNOWN


def _argument(text: str, scope: Scope, types: frozenset[str], depth: int) -> Value:
    if text.startswith("$"):
        return read_path(text, scope, Use(must=True, types=types, needed=bool(types)))
    if _CALL.match(text) is not None:
        return _called(text, scope, depth + 1)
    return UNKNOWN


@dataclass
class _Splitting:
    depth: int = 0
    is_quoted: bool = False
    is_escaped: bool = False

    def ends_at(self, character: str) -> bool:
        """Tell whether an argument ends before a character."""
        if self.is_escaped:
            self.is_escaped = False
        elif character == "\\":
            self.is_escaped = True
        elif character == "'":
            self.is_quoted = not self.is_quoted
        elif not self.is_quoted:
            self.depth += (character in "([") - (character in ")]")
            return character == "," and not self.depth
        return False


def arguments_in(text: str) -> Iterator[str]:
    """Split the arguments of a call, none of which may be split itself."""
    splitting, begin = _Splitting(), 0
    for place, character in enumerate(text):
        if splitting.ends_at(character):
            yield text[begin:place].strip()
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:].strip()
