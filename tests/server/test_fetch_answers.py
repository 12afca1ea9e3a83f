"""Questions of tasks that a model waits for: the model answers what it may, and its user the rest."""

import json
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from msgspec.structs import replace

from stepwire.json_text import JsonObject
from stepwire.rendering import UNFINISHED_TASK
from tests.kits import CONFIRMED, FORM, OUTPUT, TOOLS, URL, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, FORM_CAPABILITY, LegacyClient, ModernClient
from tests.server.fetching import (
    ASKING,
    NEXT_STEP,
    RIGHT,
    Client,
    asking_client,
    client_started,
    question_in,
    result_of,
    started,
    wait,
    without_tasks,
)


@pytest.fixture
def world() -> World:
    """Stepwire with a tool whose questions a model may answer."""
    return World(catalog=catalog_of(*TOOLS, ASKING))


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of each era that has no tasks and cannot be asked."""
    return without_tasks(world, request.param)


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
            world.server,
            services=replace(world.services, catalog=catalog_of(replace(CONFIRMED, model_may_answer=True))),
        )
        asked = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name="mcp")
        task_id = asked.call("confirmed", task={}).id_in("task")

        refused = without_tasks(world, "modern").call("task_answer", {"task_id": task_id, "question": "confirm"})

        assert "waits for a person" in refused.text
        assert world.workflows.starts == []


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
        step = NEXT_STEP.search(result["content"][0]["text"])
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
