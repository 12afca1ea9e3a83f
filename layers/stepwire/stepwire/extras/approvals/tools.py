"""The tools of approvers: what waits for them, and the form with which a person decides it.

The rule: the decision is a person's. No argument says it: the client asks its user (elicitation), whose answer comes
from the client and not from its model. An approver sees the question, who asks, and the arguments that the manifest
shows; nothing else of the task. Loaded with the first request of somebody who may decide something.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from stepwire.engine.answers import WrongAnswer
from stepwire.extras.approvals import ASKED, approvals_of, askings_of
from stepwire.extras.approvals.audiences import approver_of
from stepwire.extras.approvals.inbox import Asking, OpenQuestion, approval_id_of, approval_in
from stepwire.extras.approvals.refusals import UnknownApproval
from stepwire.extras.approvals.rules import Approver, VoteWay
from stepwire.extras.approvals.service import HasVoted, own_vote
from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.rendering import request_params, timestamp
from stepwire.server.call import Call
from stepwire.server.results import can_ask, text_result, title_of
from stepwire.server.services import Services
from stepwire.server.ways import Ask, OwnTool
from stepwire.tasks.answers import CALLER, Action, Decision
from stepwire.tasks.inputs import FormElicitation, InputRequest
from stepwire.tasks.task import ToolResult, tool_error
from stepwire.visible_text import visible

APPROVALS_LIST: Final = "approvals_list"
APPROVAL_ANSWER: Final = "approval_answer"
SHOWN: Final = 20
MOST_ATTEMPTS: Final = 5
_LONGEST_IN_A_LIST: Final = 200  # characters of JSON, of one argument
_LONGEST_IN_A_FORM: Final = 1_000
_LONGEST_ID: Final = 160  # characters
_KEEP_FOR: Final = timedelta(hours=2)
"""How long the stream of a call may ask what its client has answered; longer than the call may last."""
_KEY: Final = "decision"
_DIGEST: Final = re.compile(r"[0-9a-f]{32}")
_UNKNOWN: Final = tool_error(str(UnknownApproval()))
_DISMISSED: Final = tool_error(
    "Nothing was decided: the question was closed without an answer. Do not decide for your user; call "
    f"{APPROVAL_ANSWER} again when they want to answer."
)
_CANNOT_ASK: Final = tool_error(
    "Nothing was decided, and you cannot decide it: only a person can, and this client has no way to ask one (MCP "
    "elicitation). Tell your user: it can be decided by the link in the message that told them of it, if that has one, "
    f"or by {APPROVAL_ANSWER} from a client that supports MCP elicitation, signed in as the same person."
)
_LIST_STEP: Final = (
    f"To have one decided, call {APPROVAL_ANSWER} with its approval_id: your client then asks your user. Do not decide "
    "for them."
)

_MAY_BE_MORE: Final = (
    "There may be more: the endpoint has not looked at all that your user's groups and scopes lead to. A question that "
    "your user was told of can be decided by its approvalId or its link."
)


def _approver(services: Services, call: Call) -> Approver:
    return approver_of(call.caller, services.access.prefix)


def take(services: Services, call: Call, asked: str, result: JsonObject | None) -> None:
    """Take the answer of a legacy client's user. What it does is seen by the stream of the call that asked.

    Args:
        services: what the methods work with.
        call: the response.
        asked: what the id of the server's request says: the approval, the call and the attempt.
        result: the answer; None: the client says that it cannot ask.
    """
    approval_id, digest, attempt = (*asked.split("."), "", "")[:3]
    named = approval_in(approval_id)
    if named is None or not _DIGEST.fullmatch(digest) or not attempt.isdecimal() or int(attempt) > MOST_ATTEMPTS:
        return
    answer = result or {"action": Action.CANCEL.value}
    try:
        outcome = services.of(approvals_of).vote(named, _approver(services, call), answer, VoteWay.TOOL)
    except UnknownApproval:
        return
    if isinstance(outcome, WrongAnswer):
        reason = None if answer.get("action") == Action.CANCEL.value else outcome.reason
        asking = Asking(int(attempt), reason)
        services.of(askings_of).note(call.caller.principal, digest, asking, services.now() + _KEEP_FOR)


# ------------------------------------------------------------------------------------------------------------ the list


def _list(services: Services, call: Call, _arguments: JsonObject) -> ToolResult:
    services.polls.check(call.caller.principal, APPROVALS_LIST, call.at)
    found = services.of(approvals_of).open_for(_approver(services, call))
    shown = [_shown(services, one, _LONGEST_IN_A_LIST) for one in found.questions[:SHOWN]]
    if not shown:
        more = "" if found.is_all else f" {_MAY_BE_MORE}"
        return text_result(f"Nothing waits for your user to decide.{more}", {"approvals": [], "more": not found.is_all})
    more = [f"These are the {SHOWN} that have waited longest; there are more."] if len(found.questions) > SHOWN else []
    more += [_MAY_BE_MORE] if not more and not found.is_all else []
    words = "\n".join([*map(_line, shown), *more, _LIST_STEP])
    return text_result(words, {"approvals": shown, "more": bool(more), "instructions": _LIST_STEP})


def _shown(services: Services, question: OpenQuestion, longest: int) -> JsonObject:
    """Write a question as approvers see it, with arguments of so many characters: nothing else of its task."""
    given, person = services.of(approvals_of).shown_arguments(question), question.task.origin.person
    arguments = {name: _cut(value, longest) for name, value in given.items()}
    return {
        "approvalId": approval_id_of(question.key),
        "tool": question.task.work.tool,
        "title": title_of(services, question.task),
        "askedBy": person.name if person else None,
        "askedAt": timestamp(question.approval.asked_at),
        "expiresAt": timestamp(question.expires_at),
        "message": request_params(question.request)["message"],
        **({"arguments": arguments} if arguments else {}),
        "approvals": question.approval.policy.approvals,
        "approved": len(question.request.answers),
    }


def _line(shown: JsonObject) -> str:
    count = f"{shown['approved']} of {shown['approvals']} have approved"
    asks = f"{shown['tool']}, asked by {shown['askedBy'] or 'somebody'}: {write(shown['message'])}"
    given = ", ".join(_arguments_of(shown))
    asks += f", with {given}" if given else ""
    return f"{shown['approvalId']}  {asks}  since {shown['askedAt']}, until {shown['expiresAt']}, {count}"


def _arguments_of(shown: JsonObject) -> list[str]:
    return [f"{name}: {visible(write(value))}" for name, value in shown.get("arguments", {}).items()]


def _cut(value: Json, longest: int) -> Json:
    text = write(value)
    return value if len(text) <= longest else f"{text[:longest]}... (cut: it has {len(text)} characters)"


# ----------------------------------------------------------------------------------------------------------- the answer


def _answer(services: Services, call: Call, arguments: JsonObject) -> ToolResult | Ask:
    """Ask the client's user; or say what has become of the question."""
    named = approval_in(arguments["approval_id"])
    services.polls.check(call.caller.principal, named.task.task_id if named else APPROVAL_ANSWER, call.at)
    if named is None:
        return _UNKNOWN
    approver = _approver(services, call)
    question = services.of(approvals_of).standing(named, approver)
    if not isinstance(question, OpenQuestion):
        return _own_vote(arguments["approval_id"], question, approver)
    if not can_ask(call, question.request):
        return _CANNOT_ASK
    digest = call.session.digest_of(call.message_id)
    asking = services.of(askings_of).find(call.caller.principal, digest) if digest else None
    return _ask(services, call, question, Asking(0)) if asking is None else _again(services, call, question, asking)


def _again(services: Services, call: Call, question: OpenQuestion, asking: Asking) -> ToolResult | Ask:
    """Ask again after a wrong answer, a bounded number of times."""
    if asking.reason is None:
        return _DISMISSED
    if asking.attempt >= MOST_ATTEMPTS:
        return tool_error(f"Nothing was decided: the form was not accepted {MOST_ATTEMPTS} times: {asking.reason}.")
    return _ask(services, call, question, asking)


def _ask(services: Services, call: Call, question: OpenQuestion, before: Asking) -> Ask:
    """Return what to ask the client's user, after an answer that was not accepted or the first time."""
    approver, attempt = _approver(services, call), before.attempt + 1
    approval_id = approval_id_of(question.key)
    return Ask(
        _form(services, question, attempt, before.reason),
        f"{ASKED}{approval_id}.{call.session.digest_of(call.message_id) or ''}.{attempt}",
        question.expires_at,
        partial(services.of(approvals_of).seen, question, approver, VoteWay.TOOL),
        partial(_decide, services, call, question, attempt),
    )


def _decide(services: Services, call: Call, question: OpenQuestion, attempt: int, answer: Json) -> ToolResult | Ask:
    if as_object(answer).get("action") == Action.CANCEL.value:
        return _DISMISSED
    approver = _approver(services, call)
    try:
        outcome = services.of(approvals_of).vote(question.key, approver, answer, VoteWay.TOOL)
    except UnknownApproval:
        return _UNKNOWN
    if isinstance(outcome, WrongAnswer):
        return _ask(services, call, question, Asking(attempt, outcome.reason))
    return _own_vote(approval_id_of(question.key), outcome, approver)


def _form(services: Services, question: OpenQuestion, attempt: int, refusal: str | None) -> InputRequest:
    """Return the question with all that a person needs to decide it, none of which can pass for another part."""
    shown, params = _shown(services, question, _LONGEST_IN_A_FORM), request_params(question.request)
    arguments = [f"  {one}" for one in _arguments_of(shown)]
    parts = [
        f"{shown['askedBy'] or 'Somebody'} asks for your decision on {shown['title']} ({shown['tool']}):",
        "\n".join(f"> {line}" for line in params["message"].splitlines()),
        *(["\n".join(["With these arguments:", *arguments])] if arguments else []),
        f"To accept is to approve, and to decline is to refuse, for good. Closing this decides nothing. "
        f"{shown['approved']} of {shown['approvals']} have approved; it is open until {shown['expiresAt']}.",
    ]
    form = FormElicitation("\n\n".join(parts), write(params["requestedSchema"]))
    return replace(question.request, key=_KEY, number=attempt, asked=form, refusal=refusal, audience=CALLER)


def _own_vote(approval_id: str, standing: HasVoted | Decision | None, approver: Approver) -> ToolResult:
    """Say what an approver has decided, and what came of it; to whoever has not, what an unknown question gets."""
    own = own_vote(standing, approver)
    if own is None:
        return _UNKNOWN
    vote = "approved" if own.agrees else "refused"
    if isinstance(standing, Decision):
        outcome = "approved" if standing.agrees else "refused"
        rest = "That has decided it." if standing.answers[-1].by == own.by else f"It is decided: {outcome}."
    else:
        outcome, rest = "open", "More people must approve before it is decided."
    words = f"Your user has {vote}, at {timestamp(own.at)}. {rest}"
    data: JsonObject = {"approvalId": approval_id, "vote": vote, "outcome": outcome}
    return text_result(words, {**data, "instructions": words})


# ----------------------------------------------------------------------------------------------------------- the tools


_BY_NAME: Final = (
    OwnTool(
        APPROVAL_ANSWER,
        "Ask your user to decide",
        "Have your user approve or refuse a question that somebody's work waits with. The client shows your user the "
        "question, who asks, and a form; their answer is final. You cannot give it: there is no argument for it. Call "
        f"it when your user wants to decide a question that {APPROVALS_LIST} has shown.",
        {
            "approval_id": {
                "type": "string",
                "maxLength": _LONGEST_ID,
                "description": f"The approvalId of the question, as {APPROVALS_LIST} has shown it. Copy it exactly.",
            }
        },
        ("approval_id",),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
        _answer,
        asks=True,
    ),
    OwnTool(
        APPROVALS_LIST,
        "List what waits for my decision",
        f"List the questions of other people's work that your user may decide: who asks, for what, and until when. The "
        f"{SHOWN} that have waited longest are shown.",
        {},
        (),
        {"readOnlyHint": True, "openWorldHint": False},
        _list,
    ),
)
TOOLS: Final[Mapping[str, OwnTool]] = MappingProxyType({tool.name: tool for tool in _BY_NAME})
"""The tools of approvers, in the order of their names."""
