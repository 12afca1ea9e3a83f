"""The tools for clients without tasks: the result of every task reaches a model that can only call tools."""

import itertools
import json
import math
from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.access import Access
from stepwire.rendering import UNFINISHED_TASK
from stepwire.tasks.ids import TaskId, TaskKey
from tests.kits import ALICE, BOB, OPTIONAL, OUTPUT, STRUCTURED, TOOLS, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.fetching import ASKING, BOUND, NEXT_STEP, OWN, RIGHT, Client, names, once, started, without_tasks


@pytest.fixture
def world() -> World:
    """Stepwire with a tool whose questions a model may answer."""
    return World(catalog=catalog_of(*TOOLS, ASKING))


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of each era that has no tasks and cannot be asked."""
    return without_tasks(world, request.param)


class TestWhatIsOffered:
    """Which clients see the tools."""

    def test_a_client_without_tasks_is_shown_all_of_them(self, client: Client) -> None:
        assert names(client.ask("tools/list"))[-4:] == OWN

    def test_a_client_that_declares_tasks_sees_and_calls_the_list_alone(self, world: World) -> None:
        client = ModernClient(world)

        assert set(OWN) & set(names(client.ask("tools/list"))) == {"task_list"}
        assert client.call("task_list", {}).result["structuredContent"] == {"tasks": []}
        assert {client.call(one, {"task_id": "x"}).code for one in OWN if one != "task_list"} == {-32602}

    def test_a_client_that_can_be_asked_itself_is_not_offered_to_answer(self, world: World) -> None:
        assert "task_answer" not in names(ModernClient(world, capabilities=ASKING_CAPABILITY).ask("tools/list"))

    @pytest.mark.parametrize("capabilities", [{}, TASKS_CAPABILITY])
    def test_without_sign_in_no_tasks_are_listed(self, world: World, capabilities: Json) -> None:
        world.server = replace(world.server, services=replace(world.services, access=Access(knows_callers=False)))
        client = ModernClient(world, capabilities=capabilities)

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

    def test_the_instructions_name_them(self, world: World) -> None:
        assert "task_result" in LegacyClient(world).initialize().result["instructions"]
        assert "task_result" in ModernClient(world).ask("server/discover").result["instructions"]


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

    # Gemini CLI ends the turn of a model that makes the same call five times in a row.
    def test_each_result_names_another_call_than_the_one_before(self, world: World, client: Client) -> None:
        call = ("task_result", {"task_id": started(world)})

        made = list[Json]()
        for _ in range(5):
            made.append(call[1])
            step = NEXT_STEP.search(client.call(*call).text)
            assert step is not None
            call = (step[1], json.loads(step[2]))

        assert all(before != after for before, after in itertools.pairwise(made))
        assert {arguments["task_id"] for arguments in made} == {made[0]["task_id"]}

    # Claude Code shows its model the structured content alone, where a result has some.
    def test_the_structured_content_says_all_that_the_text_says(self, world: World, client: Client) -> None:
        task_id = started(world, "asking")
        world.ask(task_id)

        answers = [
            client.call("task_result", {"task_id": task_id, "wait_seconds": 0}),
            client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT}),
            client.call("task_cancel", {"task_id": task_id}),
            client.call("task_cancel", {"task_id": task_id}),
        ]

        for answer in answers:
            assert answer.result["structuredContent"][UNFINISHED_TASK]["instructions"] == answer.text

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
        world.server = replace(world.server, services=replace(world.services, catalog=catalog_of(STRUCTURED)))

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

        assert f"The task {task_id} was cancelled" in answer.text
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


# X29: the extension has no tasks/list
class TestTheListOfAClientWithTasks:
    """`task_list` for a client that declares tasks."""

    def test_it_names_the_tasks_and_no_tool_that_the_client_does_not_see(self, world: World) -> None:
        task_id = started(world)

        answer = ModernClient(world).call("task_list", {})

        assert "task" not in answer.result
        assert answer.text.startswith(task_id)
        assert "tasks/get" in answer.text
        assert answer.text.endswith(answer.result["structuredContent"]["instructions"])
        assert not any(one in answer.text for one in OWN)

    def test_what_an_operator_continued_is_found_marked_and_followed(self, world: World) -> None:
        client = ModernClient(world)
        failed = started(world)
        world.fail(failed)
        world.clock.time += timedelta(seconds=1)
        new = world.engine.follow_ups.redrive(TaskKey(ALICE, TaskId(failed))).task.task_id

        answer = client.call("task_list", {})

        follow_up, ended = answer.result["structuredContent"]["tasks"]
        assert (follow_up["taskId"], follow_up["follows"], follow_up["status"]) == (new, failed, "working")
        assert answer.text.splitlines()[0].endswith(f"follows {failed}")
        assert new in ended["message"]
        assert "follows" not in ended
        assert client.task("get", follow_up["taskId"]).result["status"] == "working"


class UnreadableCatalog:
    """A catalog that nobody may ask for its tools: in a function, that may read the table."""

    @property
    def tools(self) -> Any:
        raise AssertionError("a poll has asked for the catalog")


def test_a_poll_of_a_plain_call_never_asks_for_the_catalog(world: World) -> None:
    client = LegacyClient.opened(world, name="mcp")
    polled = client.call("optional")
    world.server = replace(world.server, services=replace(world.services, catalog=cast(Any, UnreadableCatalog())))

    again = client.resume(polled.last_event_id, opened_by=polled.request)

    assert (again.status, again.messages) == (200, [])
    assert world.troubles == []
