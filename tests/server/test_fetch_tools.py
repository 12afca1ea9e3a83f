"""The tools for clients without tasks: the result of every task reaches a model that can only call tools."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, cast

import pytest

from stepwire.audit import AuditAction
from stepwire.catalog.access import Access
from stepwire.json_text import JsonObject
from stepwire.rendering import UNFINISHED_TASK
from tests.kits import ALICE, BOB, CONFIRMED, FORM, OPTIONAL, OUTPUT, STRUCTURED, TOOLS, URL, World, catalog_of
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, FORM_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

Client = LegacyClient | ModernClient
ASKING: Final = replace(OPTIONAL, name="asking", model_may_answer=True)
OWN: Final = ["task_answer", "task_cancel", "task_list", "task_result"]
BOUND: Final = timedelta(seconds=15)
RIGHT: Final[Json] = {"amount": 7}


@pytest.fixture
def world() -> World:
    """Stepwire with a tool whose questions a model may answer."""
    return World(catalog=catalog_of(*TOOLS, ASKING))


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of each era that has no tasks and cannot be asked."""
    return without_tasks(world, request.param)


def without_tasks(world: World, era: str, owner: object = ALICE) -> Client:
    principal = BOB if owner is BOB else ALICE
    if era == "modern":
        return ModernClient(world, principal, capabilities={})
    return LegacyClient.opened(world, owner=principal, name="Visual Studio Code")


def names(answer: Answer) -> list[str]:
    return [tool["name"] for tool in answer.result["tools"]]


def started(world: World, tool: str = "optional") -> str:
    """Start a task and let nobody wait for it."""
    return world.call(world.catalog.tools[tool]).task_id


class TestWhatIsOffered:
    """Which clients see the tools."""

    def test_a_client_without_tasks_is_shown_all_of_them(self, client: Client) -> None:
        assert names(client.ask("tools/list"))[-4:] == OWN

    def test_a_client_that_declares_tasks_sees_and_calls_none(self, world: World) -> None:
        client = ModernClient(world)

        assert not set(OWN) & set(names(client.ask("tools/list")))
        assert client.call("task_list", {}).code == -32602

    def test_a_client_that_can_be_asked_itself_is_not_offered_to_answer(self, world: World) -> None:
        assert "task_answer" not in names(ModernClient(world, capabilities=ASKING_CAPABILITY).ask("tools/list"))

    def test_without_sign_in_no_tasks_are_listed(self, world: World) -> None:
        world.server = replace(world.server, kit=replace(world.kit, access=Access(knows_callers=False)))
        client = without_tasks(world, "modern")

        assert "task_list" not in names(client.ask("tools/list"))
        assert client.call("task_list", {}).code == -32602

    def test_what_a_client_of_2025_11_25_declares_of_the_newer_tasks_hides_nothing(self, world: World) -> None:
        client = LegacyClient.opened(world, capabilities=TASKS_CAPABILITY)  # A5

        assert names(client.ask("tools/list"))[-4:] == OWN

    def test_their_schemas_name_a_type_for_all_and_no_empty_list(self, client: Client) -> None:
        own = [tool for tool in client.ask("tools/list").result["tools"] if tool["name"] in OWN]

        for schema in (tool["inputSchema"] for tool in own):
            assert all("type" in one for one in schema["properties"].values())
            assert schema.get("required") != []

    def test_none_of_them_runs_as_a_task(self, world: World) -> None:
        client = LegacyClient.opened(world)

        assert client.call("task_list", {}, task={}).code == -32601  # T3

    def test_the_instructions_name_them_where_they_are_offered(self, world: World) -> None:
        offered = LegacyClient(world).initialize().result["instructions"]
        world.server = replace(world.server, kit=replace(world.kit, fetch_tools=False))

        assert "task_result" in offered
        assert "task_result" not in LegacyClient(world).initialize().result["instructions"]
        assert "task_result" not in ModernClient(world).ask("server/discover").result["instructions"]

    def test_an_operator_can_turn_them_off(self, world: World, client: Client) -> None:
        world.server = replace(world.server, kit=replace(world.kit, fetch_tools=False))

        assert not set(OWN) & set(names(client.ask("tools/list")))
        assert client.call("task_list", {}).code == -32602


class TestTaskResult:
    """`task_result`."""

    @pytest.mark.parametrize("tool", ["optional", "structured"])
    def test_at_the_end_it_gives_the_result_of_the_tool_in_its_own_shape(
        self, world: World, client: Client, tool: str
    ) -> None:
        task_id = started(world, tool)
        world.succeed(task_id, OUTPUT)

        fetched = client.call("task_result", {"task_id": task_id}).result

        assert fetched["structuredContent"] == OUTPUT
        assert not fetched.get("isError")

    def test_a_failed_task_gives_the_failure(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.fail(task_id)

        assert client.call("task_result", {"task_id": task_id}).result["isError"] is True

    def test_while_the_work_goes_on_it_says_so_and_what_to_do_next(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.progress(task_id, 40, message="packing")

        answer = client.call("task_result", {"task_id": task_id, "wait_seconds": 0})

        assert not answer.result.get("isError")
        assert answer.result["structuredContent"][UNFINISHED_TASK]["status"] == "working"
        assert all(
            word in answer.text for word in (task_id, "40%: packing", "Next: call task_result", "Do not call optional")
        )

    @pytest.mark.parametrize(
        ("asked", "waited"),
        [
            (None, BOUND),
            (0, timedelta()),
            (5, timedelta(seconds=5)),
            (86_400, BOUND),
            (1e300, BOUND),
        ],
    )
    def test_it_waits_as_long_as_asked_and_never_longer_than_the_bound(
        self, world: World, client: Client, asked: float | None, waited: timedelta
    ) -> None:
        task_id, began = started(world), world.clock.time

        more = {} if asked is None else {"wait_seconds": asked}
        client.call("task_result", {"task_id": task_id, **more})

        assert world.clock.time - began == waited

    @pytest.mark.parametrize("change", ["progress", "end"])
    def test_it_returns_early_on_news(self, world: World, client: Client, change: str) -> None:
        task_id, began = started(world), world.clock.time
        happen = {"progress": lambda: world.progress(task_id, 10), "end": lambda: world.succeed(task_id, OUTPUT)}
        world.clock.on_sleep = once(happen[change])

        client.call("task_result", {"task_id": task_id})

        assert world.clock.time - began < timedelta(seconds=1)

    def test_each_look_costs_what_a_poll_costs(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.store.calls.clear()

        client.call("task_result", {"task_id": task_id, "wait_seconds": 0})

        assert world.store.calls == ["load"]

    @pytest.mark.parametrize("tool", ["task_result", "task_cancel", "task_answer"])
    def test_foreign_unknown_and_malformed_ids_get_the_same_bytes(
        self, world: World, client: Client, tool: str
    ) -> None:
        foreign = world.call(OPTIONAL, owner=BOB).task_id
        world.store.calls.clear()

        ids = (foreign, "0" * len(foreign), "no id", "")
        more = {"question": "approval"} if tool == "task_answer" else {}
        answers = {client.call(tool, {"task_id": one, **more}).response.body for one in ids}

        assert len(answers) == 1
        assert "You have no task" in answers.pop()

    @pytest.mark.parametrize(
        "wrong",
        [{}, {"task_id": 7}, {"task_id": "x", "wait_seconds": -1}, {"task_id": "x", "wait_seconds": "1"}, {"id": "x"}],
    )
    def test_wrong_arguments_are_an_error_that_a_model_can_act_on(self, client: Client, wrong: Json) -> None:
        answer = client.call("task_result", wrong)

        assert answer.result["isError"] is True
        assert "The arguments of task_result are not valid" in answer.text

    @pytest.mark.parametrize(("asked", "code"), [(math.nan, -32700), (math.inf, -32700), (10**18 + 1, -32602)])
    def test_a_wait_that_json_cannot_say_exactly_is_refused(self, client: Client, asked: float, code: int) -> None:
        assert client.call("task_result", {"task_id": "x", "wait_seconds": asked}).code == code

    def test_a_task_that_expires_during_the_wait_is_one_that_is_not_there(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.clock.time += timedelta(hours=1, seconds=-5)

        answer = client.call("task_result", {"task_id": task_id})

        assert answer.result["isError"] is True
        assert "it may have expired" in answer.text

    def test_the_result_of_a_tool_that_is_no_longer_served_is_still_there(self, world: World, client: Client) -> None:
        running, ended = started(world), started(world)
        world.succeed(ended, OUTPUT)
        world.server = replace(world.server, kit=replace(world.kit, catalog=catalog_of(STRUCTURED)))

        shown = client.call("task_result", {"task_id": running, "wait_seconds": 0})
        fetched = client.call("task_result", {"task_id": ended})

        assert "Next: call task_result" in shown.text
        assert fetched.result["structuredContent"] == OUTPUT

    def test_polls_and_results_are_audited(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.succeed(task_id, OUTPUT)
        world.audit.clear()

        client.call("task_result", {"task_id": task_id})

        assert [entry.action for entry in world.audit] == [AuditAction.POLLED, AuditAction.RETRIEVED]


class TestTaskAnswer:
    """`task_answer`."""

    def test_the_question_and_its_schema_come_with_the_result_and_a_model_answers(
        self, world: World, client: Client
    ) -> None:
        task_id = client_started(world, client)
        world.ask(task_id)

        shown = question_in(client.call("task_result", {"task_id": task_id}))
        answer = client.call("task_answer", {"task_id": task_id, "question": shown["key"], "answer": RIGHT})

        assert shown == {"key": "approval", "message": FORM["message"], "schema": FORM["requestedSchema"]}
        assert "The answer was taken" in answer.text
        assert len(world.workflows.resumptions) == 1

    def test_a_wrong_answer_is_refused_with_its_reason_and_asked_again(self, world: World, client: Client) -> None:
        task_id = client_started(world, client)
        world.ask(task_id)

        refused = client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": {"amount": 5_000}})
        shown = question_in(client.call("task_result", {"task_id": task_id, "wait_seconds": 0}))
        taken = client.call("task_answer", {"task_id": task_id, "question": shown["key"], "answer": RIGHT})

        assert refused.result["isError"] is True
        assert all(word in refused.text for word in ("at content/amount", '"schema"', f'"key":"{shown["key"]}"'))
        assert "at content/amount" in shown["message"]
        assert "The answer was taken" in taken.text

    def test_an_answer_to_a_question_that_is_asked_again_meanwhile_goes_nowhere(
        self, world: World, client: Client
    ) -> None:
        task_id = client_started(world, client)
        world.ask(task_id)
        client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": {"amount": 5_000}})

        late = client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})

        assert late.result["isError"] is True
        assert "no open question with this key" in late.text
        assert "approval#2" in late.text
        assert world.workflows.resumptions == []

    def test_two_open_questions_are_answered_one_after_the_other(self, world: World, client: Client) -> None:
        task_id = client_started(world, client)
        world.ask(task_id, "first")
        world.ask(task_id, "second")

        first = question_in(client.call("task_result", {"task_id": task_id, "wait_seconds": 0}))
        after = client.call("task_answer", {"task_id": task_id, "question": first["key"], "answer": RIGHT})
        second = question_in(after)
        last = client.call("task_answer", {"task_id": task_id, "question": second["key"], "answer": RIGHT})

        assert (first["key"], second["key"]) == ("first", "second")
        assert "Next: call task_answer" in after.text
        assert "Next: call task_result" in last.text
        assert len(world.workflows.resumptions) == 2

    def test_either_of_two_open_questions_may_be_answered_first(self, world: World, client: Client) -> None:
        task_id = client_started(world, client)
        world.ask(task_id, "first")
        world.ask(task_id, "second")

        after = client.call("task_answer", {"task_id": task_id, "question": "second", "answer": RIGHT})

        assert question_in(after)["key"] == "first"

    def test_an_answer_that_could_not_be_delivered_yet_is_not_asked_for_again(
        self, world: World, client: Client
    ) -> None:
        task_id = client_started(world, client)
        world.ask(task_id)
        world.workflows.is_available = False

        taken = client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})
        again = client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})
        world.workflows.is_available = True
        client.call("task_result", {"task_id": task_id, "wait_seconds": 0})

        assert "The answer was taken" in taken.text
        assert "it may have been answered already" in again.text
        assert len(world.workflows.resumptions) == 1

    def test_an_answer_costs_what_the_method_for_it_costs(self, world: World, client: Client) -> None:
        one, other = (client_started(world, client) for _ in range(2))
        world.ask(one, token="one")
        world.ask(other, token="other")
        world.store.calls.clear()

        client.call("task_answer", {"task_id": one, "question": "approval", "answer": RIGHT})
        of_the_tool = list(world.store.calls)
        world.store.calls.clear()
        ModernClient(world).update(other, {"approval": {"action": "accept", "content": RIGHT}})

        assert of_the_tool == world.store.calls

    def test_a_model_may_decline(self, world: World, client: Client) -> None:
        task_id = client_started(world, client)
        world.ask(task_id)

        client.call("task_answer", {"task_id": task_id, "question": "approval", "action": "decline"})

        assert world.workflows.resumptions[-1].output == '{"action":"decline"}'

    def test_an_answer_to_a_closed_question_changes_nothing(self, world: World, client: Client) -> None:
        task_id = client_started(world, client)
        world.ask(task_id)
        client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})

        late = client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})

        assert late.result["isError"] is True
        assert "has no open question" in late.text
        assert len(world.workflows.resumptions) == 1

    def test_a_question_for_a_person_is_neither_shown_nor_answered(self, world: World, client: Client) -> None:
        task_id = started(world)  # of a tool whose manifest says nothing of models
        world.ask(task_id)

        shown = client.call("task_result", {"task_id": task_id})
        refused = client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})

        assert "question" not in shown.result["structuredContent"][UNFINISHED_TASK]
        assert "a person gives" in shown.text
        assert "waits for a person" in refused.text
        assert world.workflows.resumptions == []

    def test_a_confirmation_is_never_a_models_to_give(self, world: World) -> None:
        world.server = replace(
            world.server, kit=replace(world.kit, catalog=catalog_of(replace(CONFIRMED, model_may_answer=True)))
        )
        asked = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name="mcp")
        task_id = asked.call("confirmed", task={}).id_in("task")

        refused = without_tasks(world, "modern").call("task_answer", {"task_id": task_id, "question": "confirm"})

        assert "waits for a person" in refused.text
        assert world.workflows.starts == []


class TestCancelAndList:
    """`task_cancel` and `task_list`."""

    def test_a_task_is_stopped(self, world: World, client: Client) -> None:
        task_id = started(world)

        answer = client.call("task_cancel", {"task_id": task_id})

        assert answer.result["structuredContent"][UNFINISHED_TASK]["status"] == "cancelled"
        assert len(world.workflows.stops) == 1

    def test_a_task_that_waits_for_its_confirmation_never_begins(self, world: World, client: Client) -> None:
        asked = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name="mcp")
        task_id = asked.call("confirmed", task={}).id_in("task")

        answer = client.call("task_cancel", {"task_id": task_id})

        assert "The task was cancelled" in answer.text
        assert world.workflows.starts == []

    def test_a_task_that_was_cancelled_has_no_result_to_fetch(self, world: World, client: Client) -> None:
        task_id = started(world)
        client.call("task_cancel", {"task_id": task_id})

        answer = client.call("task_cancel", {"task_id": task_id})

        assert "had ended already, as cancelled" in answer.text
        assert "Next:" not in answer.text

    def test_a_task_that_has_ended_stays_as_it_is(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.succeed(task_id, OUTPUT)

        answer = client.call("task_cancel", {"task_id": task_id})

        assert not answer.result.get("isError")
        assert "had ended already, as completed" in answer.text

    def test_ones_own_tasks_are_listed_newest_first(self, world: World, client: Client) -> None:
        world.call(STRUCTURED, owner=BOB)
        first = started(world)
        world.clock.time += timedelta(seconds=1)
        second = started(world, "structured")

        answer = client.call("task_list", {})

        listed = [(one["taskId"], one["tool"]) for one in answer.result["structuredContent"]["tasks"]]
        assert listed == [(second, "structured"), (first, "optional")]
        assert [line.split()[0] for line in answer.text.splitlines()] == [second, first]

    def test_an_ended_task_is_listed_with_the_time_that_it_took(self, world: World, client: Client) -> None:
        task_id = started(world)
        world.clock.time += timedelta(seconds=90)
        world.succeed(task_id, OUTPUT)
        world.clock.time += timedelta(seconds=600)

        (listed,) = client.call("task_list", {}).result["structuredContent"]["tasks"]

        assert listed["elapsedSeconds"] == 90


class TestWhoCanBeAsked:
    """`task_result` where the client puts questions to its user itself."""

    def test_an_open_question_reaches_the_user_at_once_and_the_result_comes_on_the_same_stream(
        self, world: World
    ) -> None:
        client, task_id, began = asking_client(world), started(world), world.clock.time
        world.ask(task_id)

        first = client.call("task_result", {"task_id": task_id})
        waited = world.clock.time - began
        client.respond(first.messages[-1], result={"action": "accept", "content": RIGHT})
        *_, last = client.follow(first, between=lambda _: world.succeed(task_id, OUTPUT))

        assert waited < timedelta(seconds=1)
        assert first.messages[-1]["method"] == "elicitation/create"
        assert last["result"]["structuredContent"] == OUTPUT
        assert len(world.workflows.resumptions) == 1

    def test_progress_is_not_told_with_the_token_of_the_call_that_started_the_task(self, world: World) -> None:
        client = asking_client(world)
        client.call("optional", progress_token="of the first call")
        (task_id,) = (task.task_id for task in world.store.tasks.values())
        world.ask(task_id)

        def go_on(_: object) -> None:
            world.progress(task_id, 40)
            world.clock.time += timedelta(seconds=25)

        messages = client.follow(client.call("task_result", {"task_id": task_id}), between=go_on)

        assert "notifications/progress" not in [message.get("method") for message in messages]
        assert "Next: call task_result" in messages[-1]["result"]["content"][0]["text"]

    def test_two_clients_are_asked_and_the_first_answer_counts(self, world: World) -> None:
        clients, task_id = (asking_client(world), asking_client(world)), started(world)
        world.ask(task_id)
        asked = [client.call("task_result", {"task_id": task_id}) for client in clients]

        for client, body, amount in zip(clients, asked, (7, 8), strict=True):
            client.respond(body.messages[-1], result={"action": "accept", "content": {"amount": amount}})
        world.succeed(task_id, OUTPUT)

        ends = [client.follow(body)[-1] for client, body in zip(clients, asked, strict=True)]
        assert [one.output for one in world.workflows.resumptions] == ['{"action":"accept","content":{"amount":7}}']
        assert all(end["result"]["structuredContent"] == OUTPUT for end in ends)

    def test_a_page_to_open_is_left_to_a_client_that_can_open_one(self, world: World) -> None:
        task_id = started(world)
        world.ask(task_id, elicitation=URL)

        answer = ModernClient(world, capabilities=FORM_CAPABILITY).call(
            "task_result", {"task_id": task_id, "wait_seconds": 0}
        )

        assert "a person gives" in answer.text

    def test_a_question_of_a_client_of_2026_07_28_reaches_its_user(self, world: World) -> None:
        client, task_id = ModernClient(world, capabilities=FORM_CAPABILITY), started(world)
        world.ask(task_id)
        arguments: Json = {"task_id": task_id, "wait_seconds": 0}

        asked = client.call("task_result", arguments).result
        given = {"approval": {"action": "accept", "content": RIGHT}}
        after = client.call(
            "task_result", arguments, more={"requestState": asked["requestState"], "inputResponses": given}
        )

        assert list(asked["inputRequests"]) == ["approval"]
        assert "Next: call task_result" in after.text
        assert len(world.workflows.resumptions) == 1


class TestConfirmation:
    """A tool that asks before it begins."""

    def test_a_client_that_cannot_be_asked_is_told_so_and_nothing_is_started(
        self, world: World, client: Client
    ) -> None:
        refused = client.call("confirmed", {"text": "hello"})

        assert "elicitation" in refused.error["message"]
        assert not world.store.tasks

    def test_a_call_that_outlasts_its_client_is_confirmed_by_way_of_task_result(self, world: World) -> None:
        client = asking_client(world)
        messages = client.follow(client.call("confirmed", {"text": "hello"}), between=lambda _: wait(world, seconds=25))
        task_id = messages[-1]["result"]["_meta"][UNFINISHED_TASK]["taskId"]

        asked = client.call("task_result", {"task_id": task_id})
        client.respond(asked.messages[-1], result={"action": "accept", "content": {}})

        assert asked.messages[-1]["method"] == "elicitation/create"
        assert len(world.workflows.starts) == 1


def wait(world: World, seconds: float) -> None:
    """Let time pass."""
    world.clock.time += timedelta(seconds=seconds)


def asking_client(world: World) -> LegacyClient:
    """Return a client of 2025-11-25 that comes back for its responses and can ask its user."""
    return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name="mcp")


def question_in(answer: Answer) -> Json:
    """Return the question that a result shows to a model."""
    return answer.result["structuredContent"][UNFINISHED_TASK]["question"]


def client_started(world: World, client: Client) -> str:
    """Let a client without tasks call the tool that asks, and give the id in its unfinished result."""
    result = result_of(client, "asking", {"text": "hello"})
    assert not result.get("isError")
    return str(result["structuredContent"][UNFINISHED_TASK]["taskId"])


def result_of(client: Client, tool: str, arguments: JsonObject) -> Json:
    """Call a tool as a client's library does, which goes on by itself in rounds (MRTR)."""
    result = client.call(tool, arguments).result
    while result.get("resultType") == "input_required":
        assert isinstance(client, ModernClient)
        result = client.call(tool, arguments, more={"requestState": result["requestState"]}).result
    return result


def once(action: Callable[[], object]) -> Callable[[], object]:
    """Return a function that acts at its first call only."""
    left = [action]

    def act() -> None:
        if left:
            left.pop()()

    return act


@dataclass
class ScriptedModel:
    """A model that knows names, descriptions and results of tools, and nothing of Stepwire."""

    client: Client
    calls: int = 0
    tools: dict[str, Json] = field(default_factory=dict[str, Json])

    def use(self, tool: str, arguments: JsonObject) -> Json:
        """Call a tool, and go on as its results say, until one names no tool to call next."""
        self.tools = {one["name"]: one for one in self.client.ask("tools/list").result["tools"]}
        result = self._call(tool, arguments)
        while (step := self._next(result)) is not None:
            result = self._call(*step)
        return result

    def _call(self, tool: str, arguments: JsonObject) -> Json:
        self.calls += 1
        assert self.calls <= 50, "the model never comes to an end"
        return result_of(self.client, tool, arguments)

    def _next(self, result: Json) -> tuple[str, JsonObject] | None:
        step = re.search(r"Next: call (\w+) with (\{.*?\}+)[.,]", result["content"][0]["text"])
        if step is None or step[1] not in self.tools:
            return None
        arguments = json.loads(step[2])
        question = result.get("structuredContent", {}).get(UNFINISHED_TASK, {}).get("question")
        return step[1], arguments if question is None else {**arguments, "answer": self._fill(question["schema"])}

    def _fill(self, schema: Json) -> Json:
        return {name: schema["properties"][name].get("minimum", 0) for name in schema["required"]}


def test_a_model_that_knows_only_tools_gets_the_result_of_three_minutes_of_work(world: World, client: Client) -> None:
    began = world.clock.time

    def happen() -> None:
        elapsed = world.clock.time - began
        if elapsed >= timedelta(seconds=60) and not world.workflows.waiting and not world.workflows.resumptions:
            world.ask(world.workflows.starts[0].execution.name.rpartition("-")[2])
        if elapsed >= timedelta(seconds=180) and world.workflows.resumptions:
            world.clock.on_sleep = lambda: None
            world.succeed(world.workflows.starts[0].execution.name.rpartition("-")[2], OUTPUT)

    world.clock.on_sleep = happen
    model = ScriptedModel(client)

    result = model.use("asking", {"text": "hello"})

    assert result["structuredContent"] == OUTPUT
    assert len(world.workflows.starts) == 1, "the work was started once"
    assert model.calls <= 15


class UnreadableCatalog:
    """A catalog that nobody may ask for its tools: in a function, that may read the table."""

    @property
    def tools(self) -> Any:
        raise AssertionError("a poll has asked for the catalog")


def test_a_poll_of_a_plain_call_never_asks_for_the_catalog(world: World) -> None:
    client = LegacyClient.opened(world, name="mcp")
    polled = client.call("optional")
    world.server = replace(world.server, kit=replace(world.kit, catalog=cast(Any, UnreadableCatalog())))

    again = client.resume(polled.last_event_id, opened_by=polled.request)

    assert (again.status, again.messages) == (200, [])
    assert world.troubles == []
