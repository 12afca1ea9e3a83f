"""What a stub replies: an answer or a failure, at once or later. Pure.

A written reply is the answer itself, or one of these forms, in the words of AWS's own test files:
`{"Return": <answer>}`, `{"Throw": {"Error": "Glue.Busy", "Cause": "..."}}`, each with `"DelaySeconds": 2` if it takes
so long.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Answer:
    """What was asked has succeeded."""

    value: Any
    """JSON."""


@dataclass(frozen=True)
class Failure:
    """What was asked has failed, as a state's Catch sees it."""

    error: str
    cause: str = ""


@dataclass(frozen=True)
class Unusable:
    """The stub has not replied, and why: a defect of the stub, which no state should catch."""

    reason: str


Outcome = Answer | Failure | Unusable


@dataclass(frozen=True)
class Reply:
    """An outcome, and how long it takes."""

    outcome: Answer | Failure
    delay: float = 0.0
    """Seconds."""


class BadReply(Exception):
    """A reply is neither an answer nor one of the forms; the message says why."""


_FORMS = ("Return", "Throw")
_DELAY = "DelaySeconds"


def read_reply(written: Any) -> Reply:
    """Return what a stub's JSON says.

    Raises:
        BadReply: it has Return or Throw, and is wrong besides.
    """
    if not isinstance(written, Mapping) or not set(_FORMS) & set(cast("Mapping[str, Any]", written)):
        return Reply(Answer(written))
    entries = cast("Mapping[str, Any]", written)
    if unknown := [name for name in entries if name not in (*_FORMS, _DELAY)]:
        raise BadReply(f"beside {'Return' if 'Return' in entries else 'Throw'} there can be {_DELAY}, not {unknown[0]}")
    if len(set(_FORMS) & set(entries)) > 1:
        raise BadReply("either Return or Throw, not both")
    outcome = Answer(entries["Return"]) if "Return" in entries else _failure(entries["Throw"])
    return Reply(outcome, _seconds(entries.get(_DELAY, 0)))


def _failure(thrown: Any) -> Failure:
    entries: Mapping[str, Any] = cast("Mapping[str, Any]", thrown) if isinstance(thrown, Mapping) else {}
    error, cause = entries.get("Error"), entries.get("Cause", "")
    if not isinstance(error, str) or not error or not isinstance(cause, str) or set(entries) - {"Error", "Cause"}:
        raise BadReply('Throw must be {"Error": "a name", "Cause": "words"}; Cause may be left out')
    return Failure(error, cause)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise BadReply(f"{_DELAY} must be a number of seconds, not {value!r}")
    return float(value)
