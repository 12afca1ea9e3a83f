"""States that wait for a person outside MCP: by mail, a message or a task list, with a token to call back with.

Nothing in a definition says who answers, so it is judged by what is sent where, by the words of names and texts, and by
the choices that follow. The rule: a worker that is taken for a person costs its owner a look; so what is not sure is
said to be so, and a token that goes to another workflow or a container is no person's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, as_object, objects_in
from stepwire.manifests.definitions import PlacedState, given_to, states_in

_WAITS: Final = ".waitForTaskToken"
_ACTIVITY: Final = ":activity:"
_OWN: Final = ("elicitation", "sampling", "roots")  # asked through Stepwire already
_SURE: Final = 3
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# How much a word in a name or a text says for a person; its beginning is enough.
_OF_PEOPLE: Final = {
    **dict.fromkeys(("approv", "human", "manual", "reviewer", "person", "people", "signoff", "analyst", "staff"), 3),
    **dict.fromkeys(("supervisor", "officer", "underwriter", "colleague", "teammate"), 3),
    **dict.fromkeys(("review", "feedback", "moderator", "consent", "operator", "employee", "acknowledg", "askuser"), 2),
    **dict.fromkeys(("email", "mail", "slack", "teams", "sms", "whatsapp", "decid", "decision", "reject", "declin"), 2),
    **dict.fromkeys(("question", "answer", "reply", "confirm", "manager", "admin", "user", "escalat", "signature"), 2),
    **dict.fromkeys(("customer", "respond", "accept", "ask", "phone", "chat", "inspect", "expert"), 1),
}
_OF_MACHINES: Final = {
    **dict.fromkeys(("worker", "job", "batch", "container", "backend", "webhook", "textract", "rekognition"), -2),
    **dict.fromkeys(("third", "pipeline", "training", "crawler", "endpoint", "bot", "llm", "automat"), -2),
}
# What the service that gets the token says for a person.
_OF_SERVICES: Final = {"ses": 3, "sesv2": 3, "pinpoint": 3, "pinpointsmsvoicev2": 3, "chatbot": 3, "sns": 1, "sqs": -1}
_NEVER: Final = frozenset(
    {"states", "sfn", "ecs", "eks", "batch", "glue", "sagemaker", "elasticmapreduce", "codebuild"}
)
# The words for people who are not the caller.
_OTHERS: Final = frozenset(
    [
        *("manager", "approver", "reviewer", "supervisor", "officer", "underwriter", "analyst", "moderator", "auditor"),
        *("director", "administrator", "admin", "controller", "colleague", "teammate", "staff", "expert", "boss"),
    ]
)
_APPROVAL: Final = "approv"
"""Whoever approves is rarely the one who asks, though it may be."""
_APPROVED: Final = re.compile("approved?|reject(ed)?|den(y|ied)", re.IGNORECASE)
_VERDICTS: Final = re.compile(
    r"approved?|reject(ed)?|den(y|ied)|declined?|accept(ed)?|confirm(ed)?|allow(ed)?|yes|no|cancel(l?ed)?",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"['\"]((?:[^'\"\\]|\\.)*)['\"]")
_LINK: Final = re.compile(r"https?://|\$\{[^}]*(url|api|endpoint)[^}]*\}", re.IGNORECASE)
_NO_TEST: Final = ("Next", "Comment", "Variable", "Assign", "Output")
_TOKEN: Final = re.compile(r"\$\$\.Task\.Token|context\.Task\.Token", re.IGNORECASE)


@dataclass(frozen=True)
class WaitingState:
    """A state that waits for a person."""

    place: PlacedState
    is_sure: bool
    why: str
    """What speaks for it, such as `its name says approve`."""
    other: str = ""
    """Who answers it, if its words, its recipient or its function name somebody other than the caller: `manager`."""


def waiting_for_people(definition: JsonObject) -> list[WaitingState]:
    """Return the states that wait for a person, and those that may."""
    judged = (_judged(one) for one in states_in(definition) if _waits(one.state))
    return [one for one in judged if one is not None]


def said_in(value: Json, name: str = "") -> Iterator[str]:
    """Yield the texts that a definition writes out: not the names of members, nor what is read."""
    if isinstance(value, dict):
        for inner, one in cast(JsonObject, value).items():
            yield from said_in(one, inner)
    elif isinstance(value, list):
        for one in cast(list[Json], value):
            yield from said_in(one)
    elif isinstance(value, str):
        is_computed = name.endswith(".$") or value.strip().startswith("{%")
        yield from (_QUOTED.findall(value) if is_computed else [value])


def _waits(state: JsonObject) -> bool:
    resource = str(state.get("Resource", ""))
    is_own = any(name.removesuffix(".$") in _OWN for name in as_object(given_to(state).get("Payload")))
    return (resource.endswith(_WAITS) or _ACTIVITY in resource) and not is_own


def _judged(place: PlacedState) -> WaitingState | None:
    """Add up what speaks for a person, and what against."""
    service = _service(place.state)
    if service in _NEVER:
        return None
    points, why = _OF_SERVICES.get(service, 0), list[str]()
    if points > 0:
        why.append(f"its token goes to {service.upper()}")
    words = _words(place)
    found = _weights(words, _OF_PEOPLE)
    points += sum(found.values()) + sum(_weights(words, _OF_MACHINES).values())
    why += [f"it says {' and '.join(list(found)[:3])}"] if found else []
    if any(_LINK.search(text) and _TOKEN.search(text) for text in _raw(given_to(place.state))):
        points, why = points + 2, [*why, "its message has a link with the token"]
    if verdicts := _verdicts(place):
        points, why = points + 3, [*why, f"a choice on {' or '.join(verdicts[:2])} follows"]
    if points <= 0 or not why:
        return None
    said = [*words, *words_of(str(place.among.get("Comment", "")))]
    return WaitingState(place, points >= _SURE, ", ".join(why), _other(said, verdicts))


def somebody_else(words: Iterable[str]) -> str:
    """Return the first word for a person who is not the caller, such as `manager`; empty if there is none."""
    return next((one for word in words for one in (word.lower(), word.lower().removesuffix("s")) if one in _OTHERS), "")


def words_of(*texts: str) -> list[str]:
    """Return the words of texts and names."""
    return [word.lower() for text in texts for word in _WORD.findall(_TOKEN.sub("", text))]


def _other(words: list[str], verdicts: Iterable[str]) -> str:
    is_approval = any(map(_APPROVED.fullmatch, verdicts)) or any(one.startswith(_APPROVAL) for one in words)
    return somebody_else(words) or ("approver" if is_approval else "")


def _service(state: JsonObject) -> str:
    found = re.search(r":states:[^:]*:[^:]*:(?:aws-sdk:)?([\w-]+):", str(state.get("Resource", "")))
    return found[1] if found is not None else ""


def _words(place: PlacedState) -> list[str]:
    texts = [place.name, str(place.state.get("Comment", "")), *said_in(given_to(place.state))]
    if _ACTIVITY in (resource := str(place.state.get("Resource", ""))):
        texts.append(resource.rpartition(":")[2])
    if _choice_after(place) is not None:
        texts.append(str(place.state.get("Next")))
    return words_of(*texts)


def _weights(words: list[str], known: Mapping[str, int]) -> dict[str, int]:
    """Return what each word says, the first of those that begin alike."""
    found: dict[str, int] = {}
    for start, weight in known.items():
        word = next((one for one in words if one.startswith(start)), None)
        if word is not None:
            found.setdefault(word, weight)
    return found


def _choice_after(place: PlacedState) -> JsonObject | None:
    follows = as_object(as_object(place.among.get("States")).get(str(place.state.get("Next"))))
    return follows if follows.get("Type") == "Choice" else None


def _verdicts(place: PlacedState) -> list[str]:
    """Return the verdicts that the choice behind a state compares with."""
    rules = objects_in((_choice_after(place) or {}).get("Choices"))
    texts = [text for rule in rules for name, one in rule.items() if name not in _NO_TEST for text in _raw(one)]
    texts = [inner for text in texts for inner in (_QUOTED.findall(text) or [text])]
    return list(dict.fromkeys(text for text in texts if _VERDICTS.fullmatch(text)))


def _raw(value: Json) -> Iterator[str]:
    """Yield all texts of a value as they stand."""
    if isinstance(value, str):
        yield value
    inner = cast(JsonObject, value).values() if isinstance(value, dict) else value
    for one in cast(Iterable[Json], inner) if isinstance(value, dict | list) else ():
        yield from _raw(one)
