"""The card of a task in hosts with MCP Apps, in both eras. The oracle checks every answer."""

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.engine.limiter import PollLimit
from stepwire.extras.cards.audit import ANSWERED
from stepwire.extras.cards.manifest import Card
from stepwire.tasks.task import InputRequired
from tests.extras.cards.clients import (
    ANSWER,
    CARD,
    Client,
    answer,
    asked_at,
    begun,
    client_of,
    seen,
    token_for,
    with_capabilities,
)
from tests.fakes import nothing
from tests.kits import BOB, ELICITING, FORBIDDEN, OPTIONAL, OUTPUT, TELLING, URL, World, catalog_of, keeping
from tests.server.answers import Json
from tests.server.clients import CARD_CAPABILITY, FORM_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import CONFIRMED_INPUT, inputs_of, only_task
from tests.server.test_modern_requests import check_cacheable
from tests.wire_oracle.apps import APP_ONLY, UI_EXTENSION


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def client(era: str, world: World) -> Client:
    return client_of(era, world)


def cards_in(client: Client) -> list[Json]:
    return [one for one in client.ask("resources/list").result["resources"] if one["uri"].startswith("ui://")]


def undeclared(*mime_types: str) -> Json:
    return {"extensions": {UI_EXTENSION: {"mimeTypes": list(mime_types)}}}


# U1
@pytest.mark.parametrize("declared", [{}, {"extensions": {UI_EXTENSION: {}}}, undeclared(), undeclared("text/html")])
def test_a_host_without_cards_sees_nothing_of_them(era: str, world: World, declared: Json) -> None:
    client = client_of(era, world, declared)

    tools = client.ask("tools/list").result["tools"]
    called = client.call("card_task", {"task_id": "x"})
    plain = client.call("optional").result

    assert not cards_in(client)
    assert not [tool for tool in tools if "_meta" in tool or tool["name"] in APP_ONLY]
    assert (called.code, "Unknown tool" in called.error["message"]) == (-32602, True)
    assert CARD not in plain.get("_meta", {})


def test_a_client_of_the_older_era_is_told_of_cards_if_it_asks(world: World) -> None:
    told = LegacyClient(world).initialize(capabilities=CARD_CAPABILITY).result["capabilities"]
    silent = LegacyClient(world).initialize(capabilities=undeclared("text/html")).result["capabilities"]

    assert told["extensions"][UI_EXTENSION] == {}
    assert "extensions" not in silent
    assert told["resources"] == {}


@pytest.mark.parametrize(("query", "shown"), [("cards=1", True), ("cards=0", False), ("a=b", None)])
@pytest.mark.parametrize("declared", [{}, CARD_CAPABILITY])
def test_the_url_may_say_what_a_host_shows(
    era: str, world: World, query: str, shown: bool | None, declared: Json
) -> None:
    listed = asked_at(world, query, client_of(era, world, declared))

    assert (set(listed) >= APP_ONLY) == (bool(declared) if shown is None else shown)


# U2
def test_the_card_is_one_resource(client: Client) -> None:
    (listed,) = cards_in(client)
    (content,) = client.ask("resources/read", {"uri": listed["uri"]}).result["contents"]

    assert content["text"].lower().startswith("<!doctype html>")
    assert client.ask("resources/templates/list").result["resourceTemplates"] == []


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list"])
def test_there_is_no_second_page_of_resources(client: Client, method: str) -> None:
    refused = client.ask(method, {"cursor": "x"})

    assert refused.code == -32602


# U3
@pytest.mark.parametrize("uri", ["ui://stepwire/other", "file:///etc/passwd", "ui://stepwire/task/", ""])
def test_an_unknown_resource_has_the_code_of_its_era(client: Client, era: str, uri: str) -> None:
    refused = client.ask("resources/read", {"uri": uri})

    assert refused.code == (-32602 if era == "modern" else -32002)
    assert refused.error["data"] == {"uri": uri}


# U4
def test_a_tool_names_its_card_unless_it_has_none(era: str, world: World) -> None:
    tools = (OPTIONAL, keeping(replace(OPTIONAL, name="without"), cards=Card(is_shown=False)), FORBIDDEN)
    world.server = replace(world.server, services=replace(world.services, catalog=catalog_of(*tools)))
    client = client_of(era, world)

    listed = {tool["name"]: tool.get("_meta") for tool in client.ask("tools/list").result["tools"]}
    without = client.call("without").result

    ui = {"resourceUri": "ui://stepwire/task", "visibility": ["model", "app"]}
    assert listed["optional"] == {"ui": ui, "ui/resourceUri": "ui://stepwire/task"}
    assert (listed["without"], listed["forbidden"]) == (None, None)
    assert CARD not in without.get("_meta", {})


# U5
def test_the_tools_of_the_card_are_for_it_alone(client: Client) -> None:
    listed = {tool["name"]: tool.get("_meta") for tool in client.ask("tools/list").result["tools"]}

    assert {name for name, meta in listed.items() if meta == {"ui": {"visibility": ["app"]}}} == APP_ONLY
    assert "task_result" in listed


# U6
def test_a_call_answers_soon_with_the_next_step_for_a_model_whose_user_sees_no_card(
    client: Client, world: World
) -> None:
    began = world.clock.now()
    result = client.call("optional").result

    task_id = result["_meta"][CARD]["taskId"]
    assert world.clock.now() - began == world.patience.first_request
    for read in (result["content"][0]["text"], result["structuredContent"]["stepwire/task"]["instructions"]):
        assert f'Next: call task_result with {{"task_id":"{task_id}","after_seconds":2}}' in read
        assert "If this client shows cards" in read
    assert seen(client, task_id)["status"] == "working"


def test_a_call_that_ends_at_once_has_its_result_and_a_card(client: Client, world: World) -> None:
    def end() -> None:
        world.clock.on_sleep = nothing
        world.succeed(only_task(world), OUTPUT)

    world.clock.on_sleep = end

    result = client.call("optional").result

    assert result["structuredContent"] == OUTPUT
    assert result["_meta"][CARD]["ended"] is True


def test_a_host_with_tasks_gets_a_task_and_its_card(world: World) -> None:
    modern = with_capabilities(client_of("modern", world), CARD_CAPABILITY, TASKS_CAPABILITY)
    legacy = client_of("legacy", world)
    assert isinstance(modern, ModernClient)
    assert isinstance(legacy, LegacyClient)

    created = modern.call("optional").result
    older = legacy.call("optional", task={}).result
    world.succeed(created["taskId"], OUTPUT)
    result = modern.task("get", created["taskId"]).result["result"]

    assert created["_meta"][CARD]["taskId"] == created["taskId"]
    assert older["_meta"][CARD]["taskId"] == older["task"]["taskId"]
    assert result["_meta"][CARD] == {"taskId": created["taskId"], "ended": True}


# U7
def test_a_question_is_answered_with_its_token_once(client: Client, world: World) -> None:
    task_id = begun(client)
    world.ask(task_id)
    token = token_for(client, task_id, "approval")

    taken = answer(client, task_id, "approval", token, ANSWER).result
    again = answer(client, task_id, "approval", token, ANSWER).result

    assert (taken["isError"], taken["structuredContent"]["status"]) == (False, "working")
    assert (again["isError"], len(world.workflows.resumptions)) == (True, 1)
    assert [one.outcome for one in world.audit if one.action is ANSWERED] == ["accept"]


@pytest.mark.parametrize("borrowed", ["nothing", "another question", "another task", "another caller"])
def test_no_other_token_answers_a_question(era: str, world: World, borrowed: str) -> None:
    client, stranger = client_of(era, world), client_of(era, world, owner=BOB)
    task_id, other, foreign = begun(client), begun(client), begun(stranger)
    for one, key in ((task_id, "approval"), (task_id, "second"), (other, "approval"), (foreign, "approval")):
        world.ask(one, key, token=f"{one}{key}")
    tokens = {
        "nothing": "",
        "another question": token_for(client, task_id, "second"),
        "another task": token_for(client, other, "approval"),
        "another caller": token_for(stranger, foreign, "approval"),
    }

    refused = answer(client, task_id, "approval", tokens[borrowed], ANSWER).result

    assert refused["isError"] is True
    assert {one["key"] for one in refused["structuredContent"]["questions"]} == {"approval", "second"}
    assert world.workflows.resumptions == []


def test_no_text_for_a_model_has_a_token(client: Client, world: World) -> None:
    task_id = begun(client)
    world.ask(task_id)
    token = token_for(client, task_id, "approval")

    read = client.call("card_task", {"task_id": task_id}).result
    fetched = client.call("task_result", {"task_id": task_id, "wait_seconds": 0})

    assert token not in str({**read, "_meta": {}})
    assert token not in str(fetched.body)


def test_a_wrong_answer_is_explained_and_asked_again(client: Client, world: World) -> None:
    task_id = begun(client)
    world.ask(task_id)

    refused = answer(client, task_id, "approval", token_for(client, task_id, "approval"), {"amount": 0}).result
    ((key, token),) = refused["_meta"][CARD]["tokens"].items()
    taken = answer(client, task_id, key, token, ANSWER).result

    (question,) = refused["structuredContent"]["questions"]
    assert refused["isError"] is True
    assert (question["key"], question["attempt"]) == (key, 2)
    assert "less than the minimum of 1" in question["error"]
    assert taken["isError"] is False


def test_a_page_to_open_and_a_refusal(client: Client, world: World) -> None:
    task_id = begun(client)
    world.ask(task_id, "sign", URL)

    (question,) = seen(client, task_id)["questions"]
    declined = answer(client, task_id, "sign", token_for(client, task_id, "sign"), action="decline").result

    assert (question["mode"], question["url"]) == ("url", URL["url"])
    assert declined["isError"] is False


# U8
def test_a_confirmation_is_a_question_of_the_card(client: Client, world: World) -> None:
    task_id = begun(client, "confirmed")
    (question,) = seen(client, task_id)["questions"]
    assert inputs_of(world) == []

    token = token_for(client, task_id, question["key"])
    taken = answer(client, task_id, question["key"], token, CONFIRMED_INPUT["confirmation"]).result

    assert question["message"] == 'Really do "hello"?'
    assert (taken["structuredContent"]["status"], inputs_of(world)) == ("working", [CONFIRMED_INPUT])


def test_a_host_with_tasks_that_can_ask_its_user_does_so(world: World) -> None:
    able = with_capabilities(client_of("modern", world), CARD_CAPABILITY, TASKS_CAPABILITY, FORM_CAPABILITY)
    unable = with_capabilities(able, CARD_CAPABILITY, TASKS_CAPABILITY)

    assert able.call("confirmed").result["resultType"] == "input_required"
    assert unable.call("confirmed").result["resultType"] == "task"


def test_a_card_is_enough_for_a_tool_that_needs_elicitation(client: Client, world: World) -> None:
    task_id = begun(client, ELICITING.name)
    world.ask(task_id)

    assert isinstance(next(iter(world.store.tasks.values())).status, InputRequired)


def test_a_tool_that_needs_the_clients_model_has_no_card(era: str, world: World) -> None:
    tool = replace(OPTIONAL, client_capabilities={"sampling": {}})
    world.server = replace(world.server, services=replace(world.services, catalog=catalog_of(tool)))
    client = with_capabilities(client_of(era, world), CARD_CAPABILITY, {"sampling": {}})

    listed = next(one for one in client.ask("tools/list").result["tools"] if one["name"] == "optional")

    assert "_meta" not in listed


def test_a_task_is_cancelled_from_its_card(client: Client, world: World) -> None:
    task_id = begun(client)

    first = client.call("card_cancel", {"task_id": task_id}).result
    second = client.call("card_cancel", {"task_id": task_id}).result

    for result in (first, second):
        assert (result["isError"], result["structuredContent"]["status"]) == (False, "cancelled")
    assert world.workflows.running() == ()


def test_the_end_is_shown_with_its_result_or_error(client: Client, world: World) -> None:
    good, bad = begun(client), begun(client)
    world.succeed(good, OUTPUT)
    world.fail(bad)

    done, failed = seen(client, good), seen(client, bad)

    assert done["result"]["structuredContent"] == OUTPUT
    assert "pollIntervalMs" not in done
    assert done["endedAt"] <= done["now"]
    assert failed["status"] in {"completed", "failed"}
    assert "it broke" in str(failed.get("result") or failed["error"])


def test_an_answer_needs_the_scopes_of_the_tool(client: Client, world: World) -> None:
    task_id = begun(client)
    world.ask(task_id)
    token = token_for(client, task_id, "approval")
    guarded = replace(world.services, catalog=catalog_of(replace(OPTIONAL, scopes=("pay",))), access=Access())
    world.server = replace(world.server, services=guarded)

    refused = answer(client, task_id, "approval", token, ANSWER)

    assert refused.code == -31004
    assert world.workflows.resumptions == []


def test_a_card_that_polls_too_fast_is_refused_without_harm(client: Client, world: World) -> None:
    task_id = begun(client)
    world.server = replace(world.server, services=replace(world.services, polls=PollLimit(1)))

    codes = [client.call("card_task", {"task_id": task_id}).body.get("error", {}).get("code") for _ in range(4)]
    world.clock.advance(seconds=3)

    assert codes == [None, None, -31002, -31002]
    assert seen(client, task_id)["status"] == "working"


# U10
def test_a_look_of_the_card_is_one_read(client: Client, world: World) -> None:
    task_id = begun(client)
    world.store.calls.clear()

    seen(client, task_id)

    assert world.store.calls == ["load"]
    assert world.workflows.looked_at == []


def test_the_states_passed_are_shown(client: Client, world: World) -> None:
    task_id = begun(client, TELLING.name)
    execution = world.workflows.execution_of(task_id)
    world.workflows.passed[execution] = ("Read", "Wait", "Check", "Wait", "Check")
    world.workflows.current_states[execution] = "Pay"

    early = seen(client, task_id)
    world.clock.time += world.intervals.state
    late = seen(client, task_id)
    looks = len(world.workflows.looked_at)
    again = seen(client, task_id)

    assert "states" not in early
    assert late["states"] == again["states"] == ["Read", "Wait", "Check", "Pay"]
    assert looks == len(world.workflows.looked_at) == 1


def test_the_states_of_a_quick_workflow_are_read_when_it_has_ended(client: Client, world: World) -> None:
    task_id = begun(client, TELLING.name)
    world.workflows.passed[world.workflows.execution_of(task_id)] = ("Read", "Write")
    world.succeed(task_id, OUTPUT)

    found = [seen(client, task_id).get("states") for _ in range(8)]

    assert found[0] == ["Read", "Write"]
    assert len(world.workflows.looked_at) < len(found), "the quota is the whole account's"


@pytest.mark.parametrize("hidden", [{"shows_state": False}, {"extras": {"cards": {"is_shown": False}}}])
def test_states_are_recorded_for_cards_alone(era: str, world: World, hidden: dict[str, bool]) -> None:
    tool = replace(TELLING, **hidden)
    world.server = replace(world.server, services=replace(world.services, catalog=catalog_of(tool)))

    client_of(era, world).call(tool.name)

    assert [task.states for task in world.store.tasks.values()] == [None]


# M31
@pytest.mark.parametrize("method", ["resources/list", "resources/read", "resources/templates/list"])
def test_the_page_and_the_lists_may_be_cached(modern: ModernClient, method: str) -> None:
    check_cacheable(modern.ask(method, {"uri": "ui://stepwire/task"} if method == "resources/read" else None).result)
