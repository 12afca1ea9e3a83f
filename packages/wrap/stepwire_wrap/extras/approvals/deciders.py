"""Approvers, as `stepwire wrap` proposes and asks them: people whose sign-in the manifest names.

The rule: what is proposed for approvers is refused, and asks nobody, as long as the manifest has none. They decide by
two buttons, so their form has no field for it: what later states read of it is made of the action.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from stepwire.extras.approvals.audiences import audience_of
from stepwire.extras.approvals.decision_fields import is_a_decision
from stepwire.json_text import JsonObject
from stepwire.tasks.inputs import InvalidQuestion
from stepwire_wrap.definitions.deciders import Choices, Decider, Others, Way, key_of
from stepwire_wrap.definitions.fields import NEGATIVE, Field, no_of
from stepwire_wrap.definitions.messages import quoted
from stepwire_wrap.definitions.people import WaitingState

_RIGHT: Final = "write claim=NAME:VALUE[,VALUE], scope=SCOPE or role=ARN"
_POSITIVE: Final = re.compile(r"approved?|accept(ed)?|allow(ed)?|confirm(ed)?|yes|ok", re.IGNORECASE)


def audience_in(texts: Iterable[str]) -> JsonObject:
    """Return what the sign-in of approvers must have, all of it.

    Raises:
        ValueError: a text is none of it; says what is right.
    """
    found: JsonObject = {}
    for text in texts:
        kind, _, value = text.strip().partition("=")
        name, colon, values = value.partition(":")
        if kind == "claim" and colon:
            found |= {"claim": name, "has": [one.strip() for one in values.split(",")]}
        elif kind in ("scope", "role") and value:
            found[kind] = value
        else:
            raise ValueError(f"{text[:100]!r} says nobody's sign-in: {_RIGHT}.")
    try:
        audience_of(found)
    except InvalidQuestion as error:
        raise ValueError(f"{str(error).removeprefix('at audience: ')}: {_RIGHT}.") from None
    return found


def _way(waiting: WaitingState) -> Way:
    meaning = (
        "people whose sign-in has a group, a scope or a role decide in their own client or on a page. The caller "
        "cannot, with any client"
    )
    return Way(Decider.OTHERS, "Approvers", meaning, f"--approvers claim=groups:{waiting.other or 'manager'}s")


def _audience(waiting: WaitingState) -> JsonObject:
    # Without approvers in the manifest, a question with an audience is refused: it never goes to the caller.
    return {"audience": {"name": f"{waiting.other or 'approver'}s"}}


def _policy(choices: Choices, asks_others: list[str]) -> JsonObject:
    states = [name for name, one in choices.deciders.items() if one is Decider.OTHERS]
    is_all = not asks_others and Decider.CALLER not in choices.deciders.values()
    return {**choices.audience, **({} if is_all else {"questions": [*map(key_of, states)]})}


def _decided(fields: list[Field]) -> list[Field]:
    """Return the fields with the values that a decision gives, if it is known which of them is the decision.

    That is the only one that knows a no, or those whose names say it.
    """
    verdicts = [one for one in fields if no_of(one) is not None]
    meant = verdicts if len(verdicts) == 1 else [one for one in verdicts if is_a_decision(one.name, one.schema)]
    return [_with_yes(one) if one in meant else one for one in fields]


def _with_yes(field: Field) -> Field:
    """Return a field with its value if approvers approve: the first one that refuses nothing."""
    if field.schema["type"] == "boolean":
        return replace(field, agreed="true")
    words = [one for one in field.schema["enum"] if not NEGATIVE.fullmatch(one)]
    agreed = next((one for one in words if _POSITIVE.fullmatch(one)), words[0] if words else "")
    no = next(one for one in field.schema["enum"] if NEGATIVE.fullmatch(one))
    rest = [json.dumps(one) for one in field.schema["enum"] if one not in (agreed, no)]
    unheard = (f"{', '.join(rest)} as {field.name}, which neither button gives",) if rest else ()
    return replace(field, agreed=quoted(agreed), unheard=unheard) if agreed else field


OTHERS: Final = Others(
    name="approvers",
    way=_way,
    refused="The state below is for approvers: without `approvers` in the manifest it is refused, and asks nobody.",
    asks="Do you approve?",
    audience=_audience,
    decided=_decided,
    sign_in=audience_in,
    right=_RIGHT,
    policy=_policy,
)
