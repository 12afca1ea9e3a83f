"""Session tokens: what they hold, which clients get a stream, and that a forged token grants nothing."""

import pytest

from stepwire.protocol.tokens import wrap
from tests.kits import OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, SESSION, LegacyClient
from tests.server.messages import failures_of, questions
from tests.wire_oracle import LEGACY

LONGEST_HEADER = 2_400  # characters; API Gateway takes 10,240 bytes of headers in all
OLDER = ("2025-06-18", "2025-03-26")


# --------------------------------------------------------------------------------------------------- what a session is


# L10
@pytest.mark.parametrize("version", [LEGACY, *OLDER])
def test_each_initialize_gets_a_new_session(world: World, version: str) -> None:
    sessions = [LegacyClient.opened(world, version).session or "" for _ in range(3)]

    assert len(set(sessions)) == 3
    assert all(SESSION.fullmatch(session) and len(session) < 300 for session in sessions)
    assert world.store.calls == []


# L10
def test_only_initialize_opens_a_session(resuming: LegacyClient) -> None:
    answers = [resuming.ask("ping"), resuming.ask("tools/list"), resuming.call("optional", task={})]

    assert not any("mcp-session-id" in answer.response.headers for answer in answers)


TALKATIVE: dict[str, Json] = {
    "a long name": {"name": "x" * 10_000},
    "a name that is hard to write": {"name": "\u2028\U0010ffff\x00" * 1_000},
    "a capability with a long name": {"capabilities": {"x" * 10_000: {}}},
    "many": {"capabilities": {f"{number}": {f"{inner}": {} for inner in range(100)} for number in range(100)}},
    "many long ones": {
        "capabilities": {f"{number:064}": {f"{inner:064}": {} for inner in range(16)} for number in range(16)}
    },
    "all of it": {"name": "\x01" * 64, "capabilities": {f"{number:064}": {"\x01" * 64: {}} for number in range(16)}},
}


# L10: whatever a client declares, its token is a valid header
@pytest.mark.parametrize("said", TALKATIVE.values(), ids=list(TALKATIVE))
def test_a_client_that_declares_a_lot_gets_a_session(world: World, said: Json) -> None:
    client = LegacyClient.opened(world, **said)

    assert len(client.session or "") < LONGEST_HEADER
    assert client.task("result", client.start()).is_stream


# L10
@pytest.mark.parametrize("params", [{}, {"clientInfo": []}, {"clientInfo": {"name": 7}}, {"capabilities": [1]}])
def test_a_client_that_declares_nothing_gets_a_session(legacy: LegacyClient, params: Json) -> None:
    answer = legacy.ask("initialize", {"protocolVersion": LEGACY, **params})

    assert SESSION.fullmatch(answer.response.headers["mcp-session-id"])


# L3: one released client sends another version in its headers than the agreed one
def test_the_agreed_version_counts_and_not_the_headers(world: World) -> None:
    new, old = LegacyClient.opened(world), LegacyClient.opened(world, OLDER[0])
    task_id = new.start()

    as_agreed = new.ask("tasks/result", {"taskId": task_id}, headers={"mcp-protocol-version": OLDER[0]})
    as_agreed_too = old.ask("tasks/get", {"taskId": task_id}, headers={"mcp-protocol-version": LEGACY})

    assert as_agreed.is_stream
    assert as_agreed_too.code == -32601


# L10, L2: a client that starts a new session may still send its old session id
def test_initialize_ignores_an_invalid_session_id(legacy: LegacyClient) -> None:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}

    answer = legacy.ask("initialize", params, headers={"mcp-session-id": "an old one"})

    assert answer.result["protocolVersion"] == LEGACY


# L10, L11
def test_everything_works_without_a_session(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()

    listed = legacy.ask("tasks/list").result["tasks"]
    world.succeed(task_id, OUTPUT)
    result = legacy.task("result", task_id).result

    assert [task["taskId"] for task in listed] == [task_id]
    assert result["structuredContent"] == OUTPUT


# L10, L11: a forged token only changes what the client claims about itself, as `initialize` would
def test_a_forged_session_gives_no_more_than_initialize_would(world: World) -> None:
    forged = LegacyClient(world, session=wrap([1, LEGACY, "anybody", "1", ASKING_CAPABILITY, 3, ""]))
    task_id = forged.start()
    world.ask(task_id)

    messages = forged.task("result", task_id).messages

    assert len(questions(messages)) == 1


# ------------------------------------------------------------------------------------------------ who is given a stream

NO_STREAM: dict[str, Json] = {
    "without a session": {"headers": {"mcp-session-id": None}},
    "Visual Studio Code": {"name": "Visual Studio Code"},
    "Visual Studio Code - Insiders": {"name": "Visual Studio Code - Insiders"},
    "visual studio code": {"name": "visual studio code"},
    "takes no events": {"headers": {"accept": "application/json"}},
}


@pytest.fixture(params=NO_STREAM.values(), ids=list(NO_STREAM))
def kind_of_client(request: pytest.FixtureRequest) -> Json:
    """A reason why a client does not resume a response."""
    return request.param


def client_of(world: World, kind_of_client: Json) -> LegacyClient:
    """Open a session as such a client does."""
    return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name=kind_of_client.get("name", "a test"))


# L7, T6, K8
def test_a_client_that_does_not_resume_gets_json_in_time_for_a_plain_call(world: World, kind_of_client: Json) -> None:
    client = client_of(world, kind_of_client)
    params: Json = {"name": "optional", "arguments": {"text": "a"}, "_meta": {"progressToken": "t"}}

    answer = client.ask("tools/call", params, headers=kind_of_client.get("headers"))

    assert not answer.is_stream
    assert answer.result["_meta"]["stepwire/task"]["status"] == "working"
    assert sum(world.clock.slept) == pytest.approx(15)


# L7, T15, K8
def test_a_client_that_does_not_resume_gets_json_in_time_for_a_result(world: World, kind_of_client: Json) -> None:
    client = client_of(world, kind_of_client)
    task_id = client.start()

    answer = client.ask("tasks/result", {"taskId": task_id}, headers=kind_of_client.get("headers"))
    world.succeed(task_id, OUTPUT)
    later = client.ask("tasks/result", {"taskId": task_id}, headers=kind_of_client.get("headers"))

    assert (answer.is_stream, answer.status, answer.code) == (False, 200, -31001)
    assert later.result["structuredContent"] == OUTPUT


# L7, L3
@pytest.mark.parametrize("version", OLDER)
def test_an_older_version_gets_json_every_time(world: World, version: str) -> None:
    client = LegacyClient.opened(world, version, capabilities=ASKING_CAPABILITY)

    answer = client.call("optional", progress_token="t")

    assert not answer.is_stream
    assert answer.result["_meta"]["stepwire/task"]["status"] == "working"


# K8: a call would hang if an unknown client were wrongly taken to resume
@pytest.mark.parametrize("name", ["Visual Studio", "", "a Test", "a test 2", "mcp2", "claude-ai", "rmcp"])
def test_a_plain_call_of_an_unlisted_client_gets_json(world: World, name: str) -> None:
    client = LegacyClient.opened(world, name=name)

    assert not client.call("optional").is_stream


# T15: only clients with tasks send tasks/result, and they resume
@pytest.mark.parametrize("name", ["Visual Studio", "", "a Test", "My Visual Studio Code", "claude-ai"])
def test_tasks_result_is_streamed_to_all_clients_not_known_to_hang(world: World, name: str) -> None:
    client = LegacyClient.opened(world, name=name, capabilities=ASKING_CAPABILITY)
    task_id = client.start()
    world.ask(task_id)

    answer = client.task("result", task_id)

    assert len(questions(answer.messages)) == 1


@pytest.mark.parametrize("name", ["Visual Studio Code - Insiders", "rmcp"])
def test_a_client_that_hangs_on_tasks_result_is_asked_no_question(world: World, name: str) -> None:
    client = LegacyClient.opened(world, name=name, capabilities=ASKING_CAPABILITY)
    task_id = client.start()

    world.ask(task_id)

    assert failures_of(world) == {"token of approval": "Stepwire.InputNotSupported"}
