"""What people other than the caller do with questions, and what is done for them: ask, remind, list, decide, tell."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Final, cast

from stepwire.aws.status_changes_function import StatusChangesHandler
from stepwire.aws.storage.items import item_of
from stepwire.aws.storage.table import Table
from stepwire.extras.approvals import approvals_over
from stepwire.extras.approvals.inbox import QuestionKey, approval_id_of
from stepwire.extras.approvals.page.links import Link, LinkMode, sealed
from stepwire.extras.approvals.page.page import ApprovalPage, PageRequest
from stepwire.extras.approvals.rules import Approver, HasScope, VoteWay, digest_of
from stepwire.extras.approvals.storage import DynamoDbInbox, open_key
from stepwire.extras.approvals.tools import APPROVAL_ANSWER, APPROVALS_LIST
from stepwire.rendering import timestamp
from stepwire.tasks.task import Task
from tests.extras.approvals.faulty_tools import APPROVED
from tests.extras.approvals.questions_to_others import approval_in
from tests.faults.operation import ANSWERED, QUERIES, Caller, Operation
from tests.faults.seen import ANSWER, Act, Seen, legacy, seen_in, seen_of_stream, taken
from tests.faults.site import Site
from tests.faults.tasks_at_hand import question_of
from tests.kits import BOB, SECRET
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient, SignedIn
from tests.server.messages import questions

HOUR: Final = timedelta(hours=1)
FINANCE: Final = HasScope("finance")
ANN: Final = Approver("a" * 32, "somebody", frozenset({FINANCE}))
VOTE: Final[Json] = {**ANSWER, "action": "accept"}
ACCEPTED: Final = 202
LISTED: Final = ("GetItem inbox", "TransactWriteItems inbox")
ORIGIN: Final = "https://mcp.example.com"


def called(site: Site) -> Task:
    site.handles.add(legacy(site).call(APPROVED.name, task={}).id_in("task"))
    return site.task()


def _asked(site: Site) -> Task:
    site.process.requests.record(question_of(site, called(site)))
    return site.task()


def arrange_ask_others(site: Site) -> Act:
    question = question_of(site, called(site))
    return taken(lambda: site.process.requests.record(question))


def others_are_asked(site: Site) -> list[str]:
    return [] if site.task().questions or site.task().has_ended else ["a question that nobody is asked"]


def arrange_remind(site: Site) -> Act:
    _asked(site)
    site.clock.time += HOUR
    return taken(site.process.sweep.run)


def others_are_reminded(site: Site) -> list[str]:
    reminded = [one for one in site.task().questions if approval_in(one).reminders]
    return [] if reminded or site.task().has_ended else ["a question that is not announced again"]


def arrange_listing(site: Site) -> Act:
    before = called(site)
    site.process.requests.record(question_of(site, before))
    return streamed(site, before, site.task())


def streamed(site: Site, before: Task, after: Task, handler: StatusChangesHandler | None = None) -> Act:
    """Return an act that gives a change of a task to the function that reads the stream."""
    images = {"OldImage": item_of(before), "NewImage": item_of(after)}
    at = {"ApproximateCreationDateTime": site.clock.now().timestamp(), "SequenceNumber": "1"}
    record = {"eventName": "MODIFY", "dynamodb": {**images, **at}}

    def act() -> Seen:
        failures: list[Json] = []
        seen = taken(
            lambda: failures.extend((handler or site.process.outbox)({"Records": [record]}, None)["batchItemFailures"])
        )()
        return Seen.ERROR if failures else seen

    return act


def others_find_it(site: Site) -> list[str]:
    found = _found(site)
    return [*_miscounted(site), *([] if found or site.task().has_ended else ["a question that nobody finds"])]


def others_find_it_no_more(site: Site) -> list[str]:
    return [*_miscounted(site), *(["a closed question that is still listed"] if _found(site) else [])]


def _found(site: Site) -> Sequence[QuestionKey]:
    return DynamoDbInbox(Table(site.table, lambda: site.account.tables)).find([digest_of(FINANCE)], 10).questions


def _miscounted(site: Site) -> list[str]:
    """Compare the marker's count, by which an approver's partitions are chosen, with the entries."""
    marker = Table(site.table, lambda: site.account.tables).get(open_key(digest_of(FINANCE))) or {}
    counted, there = int(marker.get("questions", {"N": "0"})["N"]), len(_found(site))
    return [] if counted == there else [f"{there} open questions that are counted as {counted}"]


def arrange_unlisting(site: Site) -> Act:
    """The question was decided, and its workflow got the answer."""
    act, listed = arrange_listing(site), site.task()
    assert act() is Seen.RESULT
    inbox = DynamoDbInbox(Table(site.table, lambda: site.account.tables))
    approvals_over(site.process.engine, inbox).vote(QuestionKey(listed.key, 1), ANN, VOTE, VoteWay.TOOL)
    site.outputs[listed.execution] = _given(site)
    return streamed(site, listed, site.task())


def arrange_approvals_list(site: Site) -> Act:
    assert arrange_listing(site)() is Seen.RESULT
    client = client_of(site, "modern")

    def act() -> Seen:
        answer = client.call(APPROVALS_LIST, {})
        if "result" not in answer.body:
            return seen_in(answer)
        assert len(answer.result["structuredContent"]["approvals"]) == 1
        return Seen.RESULT

    return act


def client_of(site: Site, era: str) -> ModernClient | LegacyClient:
    """Return Ann's client, which can ask her."""
    endpoint = SignedIn(site, frozenset({FINANCE.scope}), person=ANN.person)
    if era == "modern":
        return ModernClient(endpoint, BOB, ASKING_CAPABILITY)
    return LegacyClient.opened(endpoint, owner=BOB, capabilities=ASKING_CAPABILITY)


def _answer(client: ModernClient | LegacyClient, task: Task) -> Callable[..., Answer]:
    """Return a call of the tool with which Ann decides."""
    return partial(client.call, APPROVAL_ANSWER, {"approval_id": approval_id_of(QuestionKey(task.key, 1))})


def _given(site: Site) -> Json:
    """Return what the workflow gets."""
    given = {"by": ANN.name, "person": ANN.person, "at": timestamp(site.clock.now()), "way": VoteWay.TOOL.value}
    return {**VOTE, "answers": [{"action": "accept", **given, "content": VOTE["content"]}]}


def arrange_form(site: Site) -> Act:
    call = _answer(client_of(site, "modern"), _asked(site))
    return lambda: seen_in(call())


def arrange_decision(site: Site) -> Act:
    task = _asked(site)
    call, expected = _answer(client_of(site, "modern"), task), _given(site)
    more: Json = {"requestState": call().result["requestState"], "inputResponses": {"decision": VOTE}}
    site.restart()

    def act() -> Seen:
        answer = call(more=more)
        if "result" not in answer.body:
            return seen_in(answer)
        assert answer.result["structuredContent"]["vote"] == "approved", "who has voted reads that"
        site.outputs[task.execution] = expected
        return Seen.RESULT

    return act


def arrange_form_on_a_stream(site: Site) -> Act:
    call = _answer(client_of(site, "legacy"), _asked(site))

    def act() -> Seen:
        answer = call()
        return Seen.RESULT if answer.is_stream and questions(answer.messages) else seen_in(answer)

    return act


def arrange_decision_posted(site: Site) -> Act:
    task, client = _asked(site), cast(LegacyClient, client_of(site, "legacy"))
    (asked,), expected = questions(_answer(client, task)().messages), _given(site)

    def act() -> Seen:
        seen = seen_in(client.respond(asked, result=VOTE))
        site.outputs[task.execution] = expected if seen is Seen.RESULT else site.outputs.get(task.execution)
        return seen

    return act


def arrange_closing_posted(site: Site) -> Act:
    client = cast(LegacyClient, client_of(site, "legacy"))
    (asked,) = questions(_answer(client, _asked(site))().messages)
    return lambda: seen_in(client.respond(asked, result={"action": "cancel"}))


def arrange_closing_resumed(site: Site) -> Act:
    """The stream goes on after its user has closed the form."""
    client = cast(LegacyClient, client_of(site, "legacy"))
    latest = first = _answer(client, _asked(site))()
    (asked,) = questions(first.messages)
    assert client.respond(asked, result={"action": "cancel"}).status == ACCEPTED

    def act() -> Seen:
        nonlocal latest
        latest = client.resume(latest.last_event_id, opened_by=first.request)
        return seen_of_stream(latest)

    return act


def _page(site: Site) -> ApprovalPage:
    inbox = DynamoDbInbox(Table(site.table, lambda: site.account.boundary.dynamodb))
    approvals = approvals_over(site.process.engine, inbox)
    return ApprovalPage(approvals, LinkMode.LINK, ORIGIN, "Stepwire", lambda: SECRET, lambda: [SECRET])


def _browsing(site: Site, task: Task, method: str, body: bytes = b"") -> Act:
    """Return a request of a browser for the page of a task's question, with a link that opens it."""
    link = Link(QuestionKey(task.key, 1), None, task.expires_at, needs_sign_in=False)
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
    asked = PageRequest(method, sealed(link, SECRET), headers=headers, body=body)
    expected = {**VOTE, "answers": [{**_given(site)["answers"][0], "by": "somebody with the link", "way": "link"}]}
    expected["answers"][0]["person"] = link.person

    def act() -> Seen:
        try:
            answer = _page(site).answer(asked)
        except Exception:  # noqa: BLE001 - the function shows a page that says so
            return Seen.ERROR
        if answer.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return Seen.ERROR
        assert answer.status == HTTPStatus.OK, answer.html
        if method == "POST":
            assert "it was approved" in answer.html
            site.outputs[task.execution] = expected
        return Seen.RESULT

    return act


def arrange_page(site: Site) -> Act:
    return _browsing(site, _asked(site), "GET")


def arrange_page_decided(site: Site) -> Act:
    return _browsing(site, _asked(site), "POST", b"decision=approve&field-0=7")


OPERATIONS: Final = (
    Operation(
        "question to others", Caller.WORKFLOW, ("GetItem task", "PutItem task"), arrange_ask_others, others_are_asked
    ),
    Operation(
        "sweep, a reminder",
        Caller.SCHEDULE,
        (*QUERIES, "GetItem task", "PutItem task", "DescribeExecution", "PutItem task"),
        arrange_remind,
        others_are_reminded,
        first=len(QUERIES),
        last=len(QUERIES) + 1,
    ),
    Operation(
        "approvals_list",
        Caller.CLIENT,
        ("BatchGetItem inbox", "Query inbox", "BatchGetItem tasks"),
        arrange_approvals_list,
    ),
    Operation("approval_answer", Caller.CLIENT, ("GetItem task", "GetSecretValue"), arrange_form),
    Operation(
        "approval_answer, decided",
        Caller.CLIENT,
        ("GetItem task", "GetSecretValue", *ANSWERED),
        arrange_decision,
    ),
    Operation(
        "approval_answer, 2025-11-25",
        Caller.CLIENT,
        ("GetItem task", "GetItem asking"),
        arrange_form_on_a_stream,
    ),
    Operation("approval_answer, 2025-11-25, decided", Caller.CLIENT, ANSWERED, arrange_decision_posted),
    Operation(
        "approval_answer, 2025-11-25, closed",
        Caller.CLIENT,
        ("GetItem task", "PutItem asking"),
        arrange_closing_posted,
    ),
    Operation(
        "approval_answer, 2025-11-25, resumed",
        Caller.RESUMING,
        ("GetItem task", "GetItem asking"),
        arrange_closing_resumed,
    ),
    Operation("page for approvers", Caller.CLIENT, ("GetItem task",), arrange_page),
    Operation("page for approvers, decided", Caller.CLIENT, ("GetItem task", *ANSWERED), arrange_page_decided),
    Operation(
        "question to others unlisted",
        Caller.STREAM,
        ("TransactWriteItems inbox", "PutEvents"),
        arrange_unlisting,
        others_find_it_no_more,
    ),
    Operation(
        "question to others listed",
        Caller.STREAM,
        (*LISTED, "PutEvents"),
        arrange_listing,
        others_find_it,
    ),
)
