"""Questions that somebody other than the caller answers, as the console shows them and lets a named person answer.

The rules: the people are a few, made up (`deciding`). Each is one of their own, and none is a caller.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from stepwire.aws.clients import secrets_manager_client
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import required
from stepwire.aws.status_changes_function import change_in
from stepwire.engine.answers import WrongAnswer
from stepwire.extras.approvals.changes import OPEN, ApprovalChange, approval_changes
from stepwire.extras.approvals.inbox import OpenQuestion, QuestionKey
from stepwire.extras.approvals.page.links import LinkMode, Links, origin_of
from stepwire.extras.approvals.page.settings import read_link_mode
from stepwire.extras.approvals.refusals import UnknownApproval
from stepwire.extras.approvals.rules import Approver, VoteWay
from stepwire.extras.approvals.service import Approvals
from stepwire.json_text import Json, JsonObject, JsonTextError, load_json, parse, write
from stepwire.rendering import timestamp
from stepwire.tasks.answers import Action, Decision
from stepwire.tasks.inputs import params_of
from stepwire_local.extras import Part, Refused, Shown, Stack
from stepwire_local.extras.approvals.deciding import MCP, at_work, somebody
from stepwire_local.lambdas.functions import Function
from stepwire_local.streams.task_changes import Record, Told

PEOPLE: Final = ("Ann", "Bob", "Cora", "Dan", "Eve")
"""Who may answer: as many as the most that a question needs."""
MOST: Final = 1_000
_TELLING: Final = "StatusChangesFunction"
"""What tells of questions, with their links."""
_WAYS: Final = {
    VoteWay.TOOL: "by a client",
    VoteWay.CARD: "on a card",
    VoteWay.LINK: "on the page",
    VoteWay.SIGN_IN: "on the page",
    VoteWay.CONSOLE: "in the console",
}


@dataclass
class _Known:
    """An open question."""

    key: QuestionKey
    words: str = ""
    """What its task waits for."""
    links: Sequence[str] = ()
    """With which it is decided on the page."""
    seen_by: set[str] = field(default_factory=set[str])
    """Who has seen it."""


@dataclass(frozen=True)
class Outcome:
    """What came of a question that is not open any more."""

    words: str
    answer: Mapping[str, Json] | None = None
    """As an elicitation is answered; None: nobody has decided it."""


class OpenApprovals:
    """The open questions to others than the callers. Thread-safe."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._open: OrderedDict[str, _Known] = OrderedDict()
        self._closed: OrderedDict[str, QuestionKey] = OrderedDict()
        self._turn = threading.Lock()

    @classmethod
    def among(cls, parts: Iterable[Part]) -> Self:
        """Return those of a stack, given its parts: they are what the console shows too."""
        return next(part.held for part in parts if isinstance(part.held, cls))

    def part(self) -> Part:
        """Return what these add to the stack."""
        return Part(
            routes={
                ("GET", "approvals"): lambda _, asked, _body: self.listed(asked.get("as", "")),
                ("POST", "approvals"): lambda name, asked, body: self.vote(name, asked.get("as", ""), body),
                ("GET", "outcomes"): lambda name, _asked, _body: self._came_of(name),
            },
            about={"people": list(PEOPLE)},
            of_tasks=("waitsFor", lambda _: self.waiting()),
            written=self.written,
            held=self,
        )

    def written(self, record: Record) -> Iterator[Told]:
        """Note what a write of a task's item says of its questions, and yield it in words."""
        for change in approval_changes(change_in(dict(record))):
            links = self._links_of(change)
            self._note(change, links)
            yield told_of(change, links)

    def _note(self, change: ApprovalChange, links: Sequence[str]) -> None:
        name = _name_of(change.key)
        with self._turn:
            if change.happened in OPEN:
                audiences = change.approval.audiences(change.at)
                known = self._open.setdefault(name, _Known(change.key))
                known.links = links
                known.words = f"waits for {' or '.join(one.shown for one in audiences)}"
            else:
                self._open.pop(name, None)
                self._closed[name] = change.key
            for kept in (self._open, self._closed):
                while len(kept) > MOST:
                    kept.popitem(last=False)

    def waiting(self) -> Mapping[str, str]:
        """Return what the tasks wait for, by their ids."""
        with self._turn:
            return {str(one.key.task.task_id): one.words for one in self._open.values()}

    def listed(self, person: str) -> Sequence[Mapping[str, Any]]:
        """Return the questions that a person may answer and has not, oldest first.

        The page asks for them again and again; the audit trail says the first time that the person has seen one.
        """
        with self._turn:
            known = list(self._open.values())
        _check(person)
        if not known:
            return []
        with at_work(self._function()) as deciders:
            shown = list[Mapping[str, Any]]()
            for one in known:
                question = deciders.required(one.key, person)
                if question is None:
                    continue
                if self._is_new(one, person):
                    deciders.approvals.seen(question, somebody(person, question.approval), VoteWay.CONSOLE)
                shown.append({**_shown(deciders.approvals, question), "links": list(one.links)})
            return shown

    def _is_new(self, known: "_Known", person: str) -> bool:
        with self._turn:
            is_new = person not in known.seen_by
            known.seen_by.add(person)
        return is_new

    def _links_of(self, change: ApprovalChange) -> Sequence[str]:
        """Return the links with which an open question is decided on the page, as its event has them."""
        function = self.stack.functions.get(_TELLING)
        if function is None or change.happened not in OPEN:
            return ()
        with function.running():
            mode = read_link_mode(os.environ)
            if mode is LinkMode.OFF:
                return ()
            secret = Secret(required(os.environ, "SECRET_ARN"), secrets_manager_client)
            made = Links(mode, origin_of(required(os.environ, "RESOURCE")), secret).of(change)
        return [one["url"] for one in made]

    def outcome(self, name: str) -> Outcome | None:
        """Return what came of a question; None: it is open, or unknown."""
        with self._turn:
            known = self._open.get(name)
            key = known.key if known else self._closed.get(name)
        if key is None:
            return None
        with at_work(self._function()) as deciders:
            # As whoever has a link of the question sees it.
            standing = deciders.approvals.standing(key, Approver(name, "", has_link=True))
        match standing:
            case Decision():
                return _outcome_of(standing)
            case None:
                return Outcome("The question is closed: it has expired, or its workflow does not wait for it any more.")
            case _:
                return None

    def _came_of(self, name: str) -> Shown:
        """Return in words what came of a question; null while it is open."""
        outcome = self.outcome(name)
        return {"message": outcome and outcome.words}

    def vote(self, name: str, person: str, body: bytes) -> Mapping[str, Any]:
        """Record the answer of a person to a question, and return what came of it.

        Raises:
            Refused: the answer is none, or nobody may answer the question any more.
        """
        with self._turn:
            known = self._open.get(name)
        try:
            answer = parse(body)
        except JsonTextError as error:
            raise Refused(str(error)) from None
        _check(person)
        with at_work(self._function()) as deciders:
            try:
                voted = deciders.vote(known.key, person, answer) if known else None
            except UnknownApproval:
                voted = None
        if voted is None:
            outcome = self.outcome(name)
            raise Refused(f"{outcome.words} Your answer does not count." if outcome else str(UnknownApproval()))
        if isinstance(voted, WrongAnswer):
            raise Refused(f"This cannot be the answer: {voted.reason}")
        if isinstance(voted, Decision):
            return {"outcome": "decided", "message": voted.text(with_names=True)}
        return {"outcome": "counted", "message": "Recorded; more people must approve."}

    def _function(self) -> Function:
        if MCP not in self.stack.functions:
            raise Refused("This stack has no function mcp.")
        return self.stack.functions[MCP]


def told_of(change: ApprovalChange, links: Sequence[str]) -> Told:
    """Return what happened to a question in words, and with which links it is decided."""
    about = f"question {change.request.key} of task {change.task.task_id}"
    facts = {**change.detail(), "links": list(links)}
    if change.happened in OPEN:
        waits = change.request.audience.waiting_text(change.request.answers, change.expires_at)
        return Told("question", about, [waits, *links], facts, page="#/approvals")
    decided = change.decision
    said = decided.text(with_names=True) if decided else f"Nobody decided it: {change.happened.value}."
    return Told("question", about, [said], facts)


def _check(person: str) -> None:
    if person not in PEOPLE:
        raise Refused(f"Nobody here is called {person!r}: choose one of {', '.join(PEOPLE)}.")


def _outcome_of(decision: Decision) -> Outcome:
    content = decision.matter.content if decision.matter else None
    given: JsonObject = {} if content is None else load_json(content)
    verb, action = ("approved", Action.ACCEPT) if decision.agrees else ("refused", Action.DECLINE)
    shown = [verb, *(f"{name} = {value if isinstance(value, str) else write(value)}" for name, value in given.items())]
    answer: dict[str, Json] = {"action": action.value, **({} if content is None else {"content": given})}
    return Outcome(f"It was decided {_WAYS[VoteWay(decision.answers[-1].way)]}: {', '.join(shown)}.", answer)


def _shown(approvals: Approvals, one: OpenQuestion) -> Mapping[str, Any]:
    policy, votes = one.approval.policy, one.request.answers
    person = one.task.origin.person
    return {
        "name": _name_of(one.key),
        "taskId": one.task.task_id,
        "tool": one.task.work.tool,
        "key": one.request.key,
        "params": params_of(one.request.asked),
        "arguments": approvals.shown_arguments(one),
        "askedBy": person.name if person else "somebody",
        "askedAt": timestamp(one.approval.asked_at),
        "expiresAt": timestamp(one.expires_at),
        "audience": policy.audience.shown,
        "approvals": policy.approvals,
        "approvedBy": [vote.name for vote in votes],
        "waits": one.request.audience.waiting_text(votes, one.expires_at),
    }


def _name_of(key: QuestionKey) -> str:
    return f"{key.task.task_id}-{key.number}"
