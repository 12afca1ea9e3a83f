"""Fields of a form for approvers that ask for the very decision that Approve and Refuse already are. Pure.

The rule: one decision, one control. To accept the form is to approve. So a field whose name or title says nothing but
the decision ("Approved", `decision`), and that is yes or no, is not shown: the button gives its value. If it offers
more than a yes and a no, no button can, and the question cannot be asked. A field that only may mean the decision
(`allow_partial_delivery`) is shown like any other, and `doubtful_in` names it for its author.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from msgspec import Struct

from stepwire.extras.approvals.rules import DecisionField
from stepwire.json_text import JsonObject, as_list, as_object, objects_in

MOST_DECISION_FIELDS: Final = 4
_YES_AND_NO: Final = 2  # values
LONGEST_WORDING: Final = 64  # characters of such a field's name or value: all votes must fit their task
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_a-zA-Z]+")
_YES: Final = re.compile(
    r"approved?|accept(ed)?|agreed?|allow(ed)?|confirm(ed)?|grant(ed)?|permit(ted)?|authori[sz]ed?|ok(ay)?|yes|true",
    re.IGNORECASE,
)
"""The words that approve."""
_NO: Final = re.compile(
    r"reject(ed)?|den(y|ied)|declined?|refused?|(dis|not[ _-]?)(approved?|allow(ed)?|accept(ed)?)|no|false",
    re.IGNORECASE,
)
"""The words that refuse."""
_VERDICT: Final = re.compile(rf"{_YES.pattern}|{_NO.pattern}|decision|decided?|verdict|approval|consent", re.IGNORECASE)
"""The words by which a name means the decision."""
_OPEN: Final = frozenset({"answer", "response", "reply", "result", "outcome", "status", "action", "choice"})
"""Words for a decision only if what can be chosen is one."""
_AROUND: Final = frozenset(
    [
        *("is", "was", "be", "been", "has", "have", "do", "does", "i", "we", "you", "my", "our", "your", "it", "this"),
        *("that", "the", "a", "an", "final", "please", "manager", "approver", "reviewer", "supervisor"),
    ]
)
"""Words beside it that mean nothing else."""
_PERHAPS: Final = re.compile(
    r"decision|decide|verdict|outcome|approv|accept|agree|allow|confirm|consent|reject|deny|denied|declin|refus",
    re.IGNORECASE,
)
"""What the name of a field has that may ask for the decision."""


ANSWERABLE: Final = "offer two values, which the decision then gives, or leave the field out"
"""What to do with a field that no button can answer."""


class AmbiguousDecision(ValueError):
    """A field asks approvers for their decision, and no button can answer it; the message says why."""


class ButtonForm(Struct, frozen=True):
    """A form for approvers."""

    shown: JsonObject
    """Schema of what is filled in."""
    fields: tuple[DecisionField, ...]
    """What the button answers."""


def form_of(schema: JsonObject) -> ButtonForm:
    """Divide a form into what approvers fill in, and what their decision answers.

    Raises:
        AmbiguousDecision: a field asks for the decision, and offers more than a yes and a no.
    """
    properties = as_object(schema.get("properties"))
    fields = tuple(one for name, field in properties.items() if (one := _decision(name, as_object(field))) is not None)
    if not fields:
        return ButtonForm(schema, ())
    if len(fields) > MOST_DECISION_FIELDS:
        raise AmbiguousDecision(f"more than {MOST_DECISION_FIELDS} of its fields ask for the decision")
    own = {one.name for one in fields}
    left = {name: one for name, one in properties.items() if name not in own}
    required: JsonObject = {"required": [one for one in as_list(schema.get("required")) if one not in own]}
    return ButtonForm({**schema, "properties": left, **(required if "required" in schema else {})}, fields)


def is_a_decision(name: str, field: JsonObject) -> bool:
    """Tell whether a field asks for the decision, whether or not a button can answer it."""
    try:
        return _decision(name, field) is not None
    except AmbiguousDecision:
        return True


def doubtful_in(schema: JsonObject) -> Iterator[str]:
    """Yield the required fields that approvers fill in, and that may mean their decision.

    These are yes or no, and are the only required one or named like a decision.
    """
    fields, required = as_object(schema.get("properties")), as_list(schema.get("required"))
    for name in required:
        field = as_object(fields.get(str(name)))
        is_yes_or_no = field.get("type") == "boolean" or any(_refuses(one) for one in _choices(field))
        if is_yes_or_no and (len(required) == 1 or _PERHAPS.search(str(name))):
            yield str(name)


def _decision(name: str, field: JsonObject) -> DecisionField | None:
    """Return what a button answers of a field; None if the field is no decision."""
    wordings = [_words(one) for one in (name, str(field.get("title", ""))) if len(one) <= LONGEST_WORDING]
    if field.get("type") == "boolean":
        words = next((one for one in wordings if _are_a_verdict(one)), list[str]())
        refuses = [_NO.fullmatch(one) is not None for one in words]
        is_clear = bool(words) and (all(refuses) or not any(refuses))
        return DecisionField(name, approves=not refuses[0], refuses=refuses[0]) if is_clear else None
    choices = _choices(field)
    refusing = [one for one in choices if _refuses(one)]
    if not refusing or len(refusing) == len(choices) or not any(_are_a_verdict(one, _OPEN) for one in wordings):
        return None
    others = [one for one in choices if one not in refusing]
    if len(choices) == _YES_AND_NO and len(others[0].value) <= LONGEST_WORDING:
        return DecisionField(name, others[0].value, refusing[0].value)
    if any(_YES.fullmatch(text) for one in others for text in one.texts):
        raise AmbiguousDecision(
            f"its field {name} asks for the decision that Approve and Refuse are, and offers more than a yes and a no"
        )
    return None


class _Choice(Struct, frozen=True):
    """What can be chosen."""

    value: str
    title: str

    @property
    def texts(self) -> tuple[str, str]:
        """What says what it means."""
        return self.value, self.title


def _choices(field: JsonObject) -> list[_Choice]:
    titled = [_Choice(str(one.get("const", "")), str(one.get("title", ""))) for one in objects_in(field.get("oneOf"))]
    values, names = as_list(field.get("enum")), as_list(field.get("enumNames"))
    listed = [_Choice(str(one), str(name)) for one, name in zip_longest(values, names[: len(values)], fillvalue="")]
    return [*titled, *listed]


def _refuses(choice: _Choice) -> bool:
    return any(_NO.fullmatch(one) for one in choice.texts)


def _words(text: str) -> list[str]:
    return [word for one in _WORD.findall(text) if (word := one.lower()) not in _AROUND]


def _are_a_verdict(words: list[str], more: frozenset[str] = frozenset()) -> bool:
    return bool(words) and all(_VERDICT.fullmatch(one) or one in more for one in words)
