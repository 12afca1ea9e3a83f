"""The console answers questions that are not the caller's, as a second person, the way that every answer goes."""

import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

import anyio
import httpx
import pytest
from mcp_types import ElicitRequestParams, ElicitResult
from rich.console import Console as Screen

from examples.demo import Demo, Progress
from examples.extras.approvals.act import act
from examples.extras.approvals.second_person import SecondPerson
from examples.terminal_user import User
from examples.waiting import Waiting
from stepwire_client import Callbacks, Completed, TaskClient, Working, connect
from stepwire_local import LocalStack
from stepwire_local.console import Console, Watchers
from stepwire_local.console.guard import HEADER
from stepwire_local.extras.approvals import NotDecided, OpenApprovals, approve, refuse
from tests.examples.stacks import BRISK, EXAMPLES, ROOT
from tests.extras.approvals.page.desk import Browser
from tests.waiting import HANG_GUARD, until

pytestmark = pytest.mark.anyio
Json = dict[str, Any]
REFUND: Final[Json] = {"order_id": "A-1003", "amount": "890.00", "currency": "EUR", "reason": "A leg is short."}


@pytest.fixture(scope="module")
def approvals() -> Iterator[OpenApprovals]:
    """The open questions of a stack that runs."""
    stack = LocalStack(
        ROOT / "stack.yaml", others=[EXAMPLES], parameters={"ApprovalLinks": "link", "PollsPerSecond": "0"}
    )
    console = Console(stack)
    stack.watcher, stack.front = Watchers(console), console.in_front_of
    with stack:
        yield OpenApprovals.among(stack.parts)


@pytest.fixture(scope="module")
def stack(approvals: OpenApprovals) -> LocalStack:
    """The stack."""
    assert isinstance(approvals.stack, LocalStack)
    return approvals.stack


@pytest.fixture
def page(stack: LocalStack) -> Iterator["Page"]:
    with httpx.Client(base_url=stack.base_url, timeout=HANG_GUARD) as http:
        yield Page(http, stack.base_url)


class Page:
    """What the console's page asks for."""

    def __init__(self, http: httpx.Client, origin: str) -> None:
        self._http, self._origin = http, origin

    def read(self, path: str) -> Any:
        return self._http.get(f"/console/api/{path}").json()

    def open_for(self, person: str, task_id: str) -> list[Json]:
        """Return the questions of a task that a person may answer."""
        return [one for one in self.read(f"approvals?as={person}") if one["taskId"] == task_id]

    def answer(self, name: str, person: str, answer: object) -> httpx.Response:
        headers = {"origin": self._origin, HEADER: "1"}
        return self._http.post(f"/console/api/approvals/{name}?as={person}", json=answer, headers=headers)


async def asked(client: TaskClient, page: Page) -> Json:
    """Ask for a refund that finance decides; return the question, once it is shown."""
    handle = await client.create_task("approve_refund", REFUND)
    assert isinstance(handle, Working)
    found = await in_thread(lambda: until(lambda: page.open_for("Ann", handle.task_id)))
    return found[0]


async def in_thread(wait: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(wait)


async def test_the_second_person_sees_who_asks_for_what_and_the_caller_waits(stack: LocalStack, page: Page) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        task = await client.get_task(question["taskId"])

    assert question["params"]["message"].startswith("Refund 890.00 EUR for order A-1003 (Standing desk)?")
    assert question["arguments"] == REFUND
    assert (question["tool"], question["key"], question["audience"]) == ("approve_refund", "finance", "finance")
    assert isinstance(task, Working)
    assert (task.status_message or "").startswith("Waits for one of finance to decide, until ")
    (listed,) = [one for one in page.read("tasks") if one["taskId"] == question["taskId"]]
    assert (listed["status"], listed["waitsFor"]) == ("working", "waits for finance")


@pytest.mark.parametrize(
    ("answer", "expected", "said"),
    [
        pytest.param(
            {"action": "accept", "content": {"amount": 600, "note": "The leg alone."}},
            {
                "status": "refunded",
                "refunded": "600.00",
                "why": "Ann of finance approved it.",
                "note": "The leg alone.",
            },
            "Ann of finance approved",
            id="approves",
        ),
        pytest.param(
            {"action": "decline"},
            {"status": "declined", "refunded": "0.00", "why": "Ann of finance declined it."},
            "Ann of finance refused",
            id="refuses",
            marks=pytest.mark.long,
        ),
    ],
)
async def test_what_the_second_person_decides_is_what_the_caller_gets(
    stack: LocalStack, page: Page, answer: Json, expected: Json, said: str
) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        response = await in_thread(lambda: page.answer(question["name"], "Ann", answer))
        result = await client.task_result(question["taskId"])
        ended = await client.get_task(question["taskId"])

    assert response.json()["outcome"] == "decided"
    assert response.json()["message"].startswith(said)
    content: Json = result.structured_content or {}
    assert content == content | expected | {"decided_by": "finance"}
    assert isinstance(ended, Completed)
    until(lambda: not page.open_for("Bob", question["taskId"]))


@pytest.mark.parametrize(
    ("person", "answer", "why"),
    [
        ("Ann", {"action": "accept", "content": {"amount": 890.01}}, "greater than the maximum of 890"),
        pytest.param("Ann", {"action": "cancel"}, "closing the question decides nothing", marks=pytest.mark.long),
        pytest.param("Ann", ["accept"], "This cannot be the answer", marks=pytest.mark.long),
        ("alice", {"action": "decline"}, "Nobody here is called 'alice'"),
    ],
)
async def test_an_answer_that_cannot_be_taken_leaves_the_question_open(
    stack: LocalStack, page: Page, person: str, answer: object, why: str
) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        response = await in_thread(lambda: page.answer(question["name"], person, answer))
        still_open = await in_thread(lambda: page.open_for("Ann", question["taskId"]))

    assert (response.status_code, bool(still_open)) == (400, True)
    assert why in response.json()["message"]


async def test_the_link_of_a_question_leads_to_its_page_on_this_stack(stack: LocalStack, page: Page) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        (link,) = question["links"]
        answer = await in_thread(lambda: httpx.get(link, timeout=HANG_GUARD))

    assert link.startswith(f"{stack.base_url}/approvals/")
    assert answer.status_code == 200
    assert "A decision for finance" in answer.text
    assert "Refund an order" in answer.text


async def test_the_audit_trail_says_once_that_somebody_has_seen_a_question(
    stack: LocalStack, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        for person in ("Ann", "Bob", "Ann"):
            await in_thread(lambda person=person: page.open_for(person, question["taskId"]))

    trail = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"audit":"seen"' in line]
    digest = hashlib.sha256(question["taskId"].encode()).hexdigest()
    own = [one for one in trail if digest.startswith(one["task_digest"])]
    assert [one["way"] for one in own] == ["console"] * 2
    assert len({one["approver"] for one in own}) == 2


async def test_of_two_people_the_first_decides(stack: LocalStack, page: Page) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        first, second = [
            await in_thread(lambda person=person: page.answer(question["name"], person, {"action": "decline"}))
            for person in ("Ann", "Bob")
        ]

    assert (first.status_code, second.status_code) == (200, 400)
    assert second.json()["message"] == "It was decided in the console: refused. Your answer does not count."


async def test_what_is_decided_on_the_page_is_said_in_the_console(stack: LocalStack, page: Page) -> None:
    async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
        question = await asked(client, page)
        before = page.read(f"outcomes/{question['name']}")
        browser = Browser()
        form = await in_thread(lambda: browser.get(question["links"][0]))
        await in_thread(lambda: browser.submit(form, "approve", **{"field-0": "500"}))

    assert before == {"message": None}
    assert page.read(f"outcomes/{question['name']}") == {
        "message": "It was decided on the page: approved, amount = 500."
    }


class Keyboard(io.StringIO):
    """Standard input at which nobody types."""

    def __init__(self) -> None:
        super().__init__()
        self.left = threading.Event()

    def readline(self, _size: int | None = -1, /) -> str:
        """Wait until it is left."""
        self.left.wait(HANG_GUARD)
        return ""


class TestOfTheDemo:
    """What `make demo` shows while its second person is asked at the terminal, and somebody uses the link."""

    @pytest.mark.parametrize(("decision", "answered"), [("approve", "approved, amount = 500"), ("refuse", "refused")])
    async def test_what_is_decided_on_the_page_ends_the_prompt(
        self, stack: LocalStack, monkeypatch: pytest.MonkeyPatch, decision: str, answered: str
    ) -> None:
        screen, keyboard = io.StringIO(), Keyboard()
        monkeypatch.setattr("sys.stdin", keyboard)
        with Waiting(Screen(file=screen, width=200)) as status:
            progress, user = Progress(Screen(file=screen), status), User(Screen(file=screen), status, by_itself=False)
            async with connect(stack.url, pace=BRISK) as client, anyio.create_task_group() as group:
                demo = Demo(Screen(file=screen, width=200), client, progress, user, stack.parts)
                group.start_soon(act, demo)
                await in_thread(lambda: until(lambda: "Your answer" in screen.getvalue()))
                (link,) = re.findall(r"^http://\S+/approvals/\S+$", screen.getvalue(), re.MULTILINE)
                browser = Browser()
                form = await in_thread(lambda: browser.get(link))
                await in_thread(lambda: browser.submit(form, decision, **{"field-0": "500"}))

        keyboard.left.set()
        assert f"It was decided on the page: {answered}. The caller was not asked." in screen.getvalue()

    async def test_an_answer_that_comes_too_late_is_not_the_one_that_counts(
        self, approvals: OpenApprovals, stack: LocalStack, page: Page
    ) -> None:
        async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
            question = await asked(client, page)

            class Late(User):
                """Decides as somebody else, before the own answer."""

                async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
                    await in_thread(lambda: page.answer(question["name"], "Bob", {"action": "decline"}))
                    return await super().elicit(params)

            screen = Screen(file=io.StringIO())
            user = Late(screen, Waiting(screen), by_itself=True)
            answer, words = await SecondPerson(approvals, user, lambda: question["taskId"]).decide()
            await client.task_result(question["taskId"])

        assert (answer.action, words) == ("decline", "It was decided in the console: refused.")


class TestOfATest:
    """`approve` and `refuse`, with which a test decides what its caller may not."""

    async def test_decides_as_somebody_of_the_audience(self, stack: LocalStack) -> None:
        async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
            handle = await client.create_task("approve_refund", REFUND)
            assert isinstance(handle, Working)
            is_decided = await in_thread(lambda: approve(stack, handle.task_id, by="Zoe", content={"amount": 600}))
            result = await client.task_result(handle.task_id)

        content: Json = result.structured_content or {}
        assert is_decided
        assert (content["refunded"], content["why"]) == ("600.00", "Zoe of finance approved it.")

    async def test_says_why_it_decides_nothing(self, stack: LocalStack) -> None:
        async with connect(stack.url, callbacks=Callbacks(), pace=BRISK) as client:
            handle = await client.create_task("approve_refund", REFUND)
            assert isinstance(handle, Working)
            task = handle.task_id
            with pytest.raises(NotDecided, match=r"This cannot be the answer: .*greater than the maximum of 890"):
                await in_thread(lambda: approve(stack, task, content={"amount": 1_000}))
            with pytest.raises(NotDecided, match=r"After 0 seconds, the task asks nothing that Ann may decide\."):
                await in_thread(lambda: refuse(stack, task, key="another", within=0))
            await in_thread(lambda: refuse(stack, task))
            await client.task_result(task)
            with pytest.raises(NotDecided, match="The task asks nothing: it is completed"):
                await in_thread(lambda: approve(stack, task))

        with pytest.raises(NotDecided, match="There is no task nothing"):
            refuse(stack, "nothing")
