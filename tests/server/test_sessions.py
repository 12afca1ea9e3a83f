"""Session tokens: what they hold, which clients get a stream, and that a forged token grants nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwire.errors import InvalidRequest
from stepwire.protocol.opaque import wrap
from stepwire.protocol.positions import position_of
from tests.kits import ALICE, BOB, OUTPUT, World
from tests.server.clients import (
    ASKING_CAPABILITY,
    PLAIN_HEADERS,
    SESSION,
    STREAM_HEADERS,
    TASKS_CAPABILITY,
    Answer,
    Door,
    Json,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import failures_of, questions
from tests.strategies import json_values
from tests.wire_oracle import LEGACY

LONGEST_HEADER = 2_400  # characters; API Gateway takes 10,240 bytes of headers in all
OLDER = ("2025-06-18", "2025-03-26")


# --------------------------------------------------------------------------------------------------- what a session is


# L10
@pytest.mark.parametrize("version", [LEGACY, *OLDER])
def test_a_session_is_given_when_a_client_introduces_itself_and_is_another_each_time(
    world: World, version: str
) -> None:
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
def test_a_client_that_says_a_lot_of_itself_gets_a_session_all_the_same(world: World, said: Json) -> None:
    client = LegacyClient.opened(world, **said)

    assert len(client.session or "") < LONGEST_HEADER
    assert client.task("result", client.start()).is_stream


# L10
@pytest.mark.parametrize("params", [{}, {"clientInfo": []}, {"clientInfo": {"name": 7}}, {"capabilities": [1]}])
def test_a_client_that_declares_nothing_gets_a_session(legacy: LegacyClient, params: Json) -> None:
    answer = legacy.ask("initialize", {"protocolVersion": LEGACY, **params})

    assert SESSION.fullmatch(answer.response.headers["mcp-session-id"])


# L3: one client names another version in its headers than it has agreed on
def test_what_was_agreed_on_counts_and_not_what_the_headers_say(world: World) -> None:
    new, old = LegacyClient.opened(world), LegacyClient.opened(world, OLDER[0])
    task_id = new.start()

    as_agreed = new.ask("tasks/result", {"taskId": task_id}, headers={"mcp-protocol-version": OLDER[0]})
    as_agreed_too = old.ask("tasks/get", {"taskId": task_id}, headers={"mcp-protocol-version": LEGACY})

    assert as_agreed.is_stream
    assert as_agreed_too.code == -32601


# L10, G: clients open another session then
@pytest.mark.parametrize(
    "garbled", ["", "x", "a session", wrap([1]), wrap([2, LEGACY, "", {}, ""]), wrap([1, 1, "", {}, ""])]
)
def test_a_session_that_cannot_be_read_is_not_found(resuming: LegacyClient, garbled: str) -> None:
    first = resuming.task("result", resuming.start())

    posted = resuming.ask("tools/list", headers={"mcp-session-id": garbled})
    got = resuming.resume(first.last_event_id, opened_by=first.request, headers={"mcp-session-id": garbled})
    told = resuming.notify("notifications/initialized", headers={"mcp-session-id": garbled})

    assert [(one.status, one.code) for one in (posted, got, told)] == [(404, -32600)] * 3


# L10, L2: a client that begins anew still sends its old one
def test_a_garbled_session_does_not_keep_a_client_from_introducing_itself(legacy: LegacyClient) -> None:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}

    answer = legacy.ask("initialize", params, headers={"mcp-session-id": "an old one"})

    assert answer.result["protocolVersion"] == LEGACY


# A10, M22
def test_modern_knows_no_sessions(modern: ModernClient) -> None:
    answer = modern.ask("tools/list", headers={"mcp-session-id": "?"})

    assert answer.status == 200
    assert "mcp-session-id" not in answer.response.headers


# L10, L11
def test_everything_works_without_a_session(legacy: LegacyClient, world: World) -> None:
    task_id = legacy.start()

    listed = legacy.ask("tasks/list").result["tasks"]
    world.succeed(task_id, OUTPUT)
    result = legacy.task("result", task_id).result

    assert [task["taskId"] for task in listed] == [task_id]
    assert result["structuredContent"] == OUTPUT


# L11, T24, T21: a session says what its client can do, and never who the caller is
def test_the_session_of_another_caller_gives_no_access_to_its_tasks(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    thief = LegacyClient(world, owner=BOB, session=resuming.session)

    answers = [thief.task(method, task_id) for method in ("get", "result", "cancel")]

    assert [answer.code for answer in answers] == [-32602] * 3
    assert thief.ask("tasks/list").result["tasks"] == []


# L10, L11: forging a token only changes what the client claims about itself, which `initialize` lets it do anyway
def test_a_forged_session_gives_what_introducing_oneself_would_have_given(world: World) -> None:
    forged = LegacyClient(world, session=wrap([1, LEGACY, "anybody", ASKING_CAPABILITY, ""]))
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
def gated(request: pytest.FixtureRequest) -> Json:
    """A reason why a client does not resume a response."""
    return request.param


def client_of(world: World, gated: Json) -> LegacyClient:
    """Open a session as such a client does."""
    return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name=gated.get("name", "a test"))


# L7, T6, K8
def test_who_does_not_come_back_gets_json_within_the_bound_for_a_plain_call(world: World, gated: Json) -> None:
    client = client_of(world, gated)
    params: Json = {"name": "optional", "arguments": {"text": "a"}, "_meta": {"progressToken": "t"}}

    answer = client.ask("tools/call", params, headers=gated.get("headers"))

    assert not answer.is_stream
    assert answer.result["_meta"]["stepwire/task"]["status"] == "working"
    assert sum(world.clock.slept) == pytest.approx(15)


# L7, T15, K8
def test_who_does_not_come_back_gets_json_within_the_bound_for_a_result(world: World, gated: Json) -> None:
    client = client_of(world, gated)
    task_id = client.start()

    answer = client.ask("tasks/result", {"taskId": task_id}, headers=gated.get("headers"))
    world.succeed(task_id, OUTPUT)
    later = client.ask("tasks/result", {"taskId": task_id}, headers=gated.get("headers"))

    assert (answer.is_stream, answer.status, answer.code) == (False, 200, -31001)
    assert later.result["structuredContent"] == OUTPUT


# L7, L3
@pytest.mark.parametrize("version", OLDER)
def test_an_older_version_gets_json_every_time(world: World, version: str) -> None:
    client = LegacyClient.opened(world, version, capabilities=ASKING_CAPABILITY)

    answer = client.call("optional", progress_token="t")

    assert not answer.is_stream
    assert answer.result["_meta"]["stepwire/task"]["status"] == "working"


# K8: a wrong yes is a call that hangs
@pytest.mark.parametrize("name", ["Visual Studio", "", "a Test", "a test 2", "mcp2", "claude-ai", "rmcp"])
def test_a_plain_call_of_a_client_that_is_on_no_list_gets_json(world: World, name: str) -> None:
    client = LegacyClient.opened(world, name=name)

    assert not client.call("optional").is_stream


# T15: only those send it who have tasks, and they come back
@pytest.mark.parametrize("name", ["Visual Studio", "", "a Test", "My Visual Studio Code", "claude-ai"])
def test_the_result_of_a_task_is_polled_by_all_who_are_not_known_to_hang(world: World, name: str) -> None:
    client = LegacyClient.opened(world, name=name, capabilities=ASKING_CAPABILITY)
    task_id = client.start()
    world.ask(task_id)

    answer = client.task("result", task_id)

    assert len(questions(answer.messages)) == 1


@pytest.mark.parametrize("name", ["Visual Studio Code - Insiders", "rmcp"])
def test_a_task_of_a_client_that_hangs_on_its_result_asks_nothing(world: World, name: str) -> None:
    client = LegacyClient.opened(world, name=name, capabilities=ASKING_CAPABILITY)
    task_id = client.start()

    world.ask(task_id)

    assert failures_of(world) == {"token of approval": "Stepwire.InputNotSupported"}


# L10: the flag in the session id, which says for what the client comes back, is only a claim of the client
@pytest.mark.parametrize(("flag", "is_polled"), [(0, False), (1, True), (2, False), (3, True)])
def test_a_forged_flag_harms_only_its_owner(world: World, flag: int, is_polled: bool) -> None:
    forged = LegacyClient(world, session=wrap([2, LEGACY, "anybody", "1", {}, flag, ""]))

    assert forged.call("optional").is_stream == is_polled


@pytest.mark.parametrize("flag", [4, -1, 1.0, True, "1", None, [1]])
def test_a_flag_that_no_session_has_is_refused(world: World, flag: Any) -> None:
    forged = LegacyClient(world, session=wrap([2, LEGACY, "anybody", "1", {}, flag, ""]))

    assert forged.call("optional").status == 404


# docs/upgrades.md: the list decides for those who said only their name
@pytest.mark.parametrize(("name", "is_polled"), [("mcp", True), ("rmcp", False), ("anybody", False)])
def test_a_session_of_an_earlier_version_goes_on_by_its_name(world: World, name: str, is_polled: bool) -> None:
    client = LegacyClient(world, session=wrap([1, LEGACY, name, {}, ""]))

    assert client.call("optional").is_stream == is_polled


# ----------------------------------------------------------------------------------------------------- forged event ids


# L8: checked like any input
@pytest.mark.parametrize(
    "forged",
    [
        "",
        "0",
        "nonsense",
        "ü",
        "=" * 10,
        "A" * 100_000,
        wrap([]),
        wrap([2, 1, "0" * 36, 0, 0, -1, 0, 0, 0]),
        wrap([1, None, "0" * 36, 0, 0, -1, 0, 0, 0]),
        wrap([1, 1.5, "0" * 36, 0, 0, -1, 0, 0, 0]),
        wrap([1, "x" * 257, "0" * 36, 0, 0, -1, 0, 0, 0]),
        wrap([1, 1, 7, 0, 0, -1, 0, 0, 0]),
        wrap([1, 1, "0" * 36, True, 0, -1, 0, 0, 0]),
        wrap([1, 1, "0" * 36, 0, -1, -1, 0, 0, 0]),
        wrap([1, 1, "0" * 36, 0, 0, "1", 0, 0, 0]),
        wrap([1, 1, "0" * 36, 0, 0, -1, 0, 1.5, 0]),
        wrap([1, 1, "0" * 36, 0, 0, -1, 0, 0, 2]),
        wrap([1, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0]),
        wrap([2, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0]),
        wrap([2, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0, -1]),
        wrap([2, 1, "0" * 36, 0, 0, -1, 0, 0, 0, "0", 0]),
        wrap([2, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0, 0, 0]),
        wrap([3, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0]),
        wrap([4, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0]),
        wrap([5, 1, "0" * 36, 0, 0, -1, 0, 0, 0, 0, 0]),
    ],
)
def test_an_event_id_that_was_never_given_out_is_refused(resuming: LegacyClient, world: World, forged: str) -> None:
    answer = resuming.resume(forged, opened_by={})

    assert (answer.status, answer.code) == (400, -32600)
    assert world.store.calls == []


# L8, T13: well-formed, and about nothing
@pytest.mark.parametrize("task_id", ["0" * 36, "", "nonsense", "../x", "x" * 500])
def test_an_event_id_that_names_no_task_ends_its_stream(resuming: LegacyClient, task_id: str) -> None:
    forged = wrap([1, "r", task_id, 0, 0, -1, 0, 0, 0])

    answer = resuming.resume(forged, opened_by={"id": "r", "method": "tasks/result", "params": {"taskId": task_id}})

    assert (answer.status, answer.code) == (200, -32602)


SECRET = "what only Alice may know"


def asks(world: World, task_id: str) -> None:
    """Let a task ask for what is secret."""
    world.ask(task_id, elicitation={"mode": "url", "message": SECRET, "url": "https://sign.example"})


def ends(world: World, task_id: str) -> None:
    """Let a task end with what is secret."""
    world.succeed(task_id, {"text": SECRET})


@st.composite
def event_ids(draw: st.DrawFn) -> Any:
    """Make any text, or something that looks like an event id, of a task with the number 0 or 1."""
    if draw(st.booleans()):
        return draw(st.text())
    right: list[Any] = [1, "r", draw(st.integers(0, 1)), 0, 0, -1, 0, 0, 0]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, 8).filter(lambda place: place != 2))
        right[place] = draw(st.integers(-1, 10) | st.sampled_from((2**53 - 1, 1.5, True)) | json_values)
    return right


@st.composite
def session_ids(draw: st.DrawFn) -> str | None:
    """Make any text, or something that looks like a session, or none."""
    if draw(st.booleans()):
        return draw(st.none() | st.text())
    capabilities = st.sampled_from((ASKING_CAPABILITY, {})) | json_values
    return wrap([1, draw(st.just(LEGACY) | st.text()), draw(st.text()), draw(capabilities), ""])


def got(world: World, event_id: str, session: str | None) -> Answer:
    """Come back as Bob with any id, and have the answer judged by what the id itself says."""
    headers = {**STREAM_HEADERS, "mcp-protocol-version": LEGACY, "last-event-id": event_id}
    try:
        position = position_of(event_id.strip(" \t"))
    except InvalidRequest:
        opened_by: Json = {}
    else:
        method = "tools/call" if position.is_call else "tasks/result"
        opened_by = {"id": position.message_id, "method": method, "params": {"taskId": position.task_id}}
    sent = headers if session is None else {**headers, "mcp-session-id": session}
    return Door(world, BOB).get(sent, opened_by=opened_by)


# L8, L10, L11, T24
@settings(max_examples=300)
@given(event_ids(), session_ids(), st.sampled_from((asks, ends)))
def test_whatever_is_forged_gets_a_well_formed_answer_and_nothing_of_anybody_elses(
    forged: Any, session: str | None, happens: Callable[[World, str], None]
) -> None:
    world = World()
    alice = ModernClient(world, ALICE, capabilities={**ASKING_CAPABILITY, **TASKS_CAPABILITY})
    ids = [alice.start(), alice.start()]
    for task_id in ids:
        happens(world, task_id)
    before, stops = dict(world.store.tasks), list(world.workflows.stops)
    event_id = forged if isinstance(forged, str) else wrap([*forged[:2], ids[forged[2]], *forged[3:]])

    answer = got(world, event_id, session)

    assert answer.status in {200, 400, 404, 405}
    assert SECRET not in answer.response.body
    assert (world.store.tasks, world.workflows.stops) == (before, stops)
    assert world.faults == world.troubles == []


# L10, L11
@given(session_ids(), st.sampled_from(("tools/list", "tasks/list", "tasks/get", "tasks/result", "tools/call", "ping")))
def test_whatever_session_is_forged_any_method_gives_a_well_formed_answer(session: str | None, method: str) -> None:
    world = World()
    task_id = LegacyClient(world).start()
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"taskId": task_id, "name": "forbidden"}}
    headers = {**PLAIN_HEADERS, "mcp-protocol-version": LEGACY}
    headers = headers if session is None else {**headers, "mcp-session-id": session}

    answer = Door(world, BOB).send(message, headers)

    assert answer.status in {200, 404}
    assert task_id not in json.dumps(answer.messages)
    assert world.faults == []


# L12
def test_a_stream_cannot_be_resumed_in_an_unknown_version(world: World) -> None:
    client = LegacyClient.opened(world)
    answer = client.call("optional", task={})
    waiting = client.task("result", answer.id_in("task"))

    resumed = Door(world).get(
        {**STREAM_HEADERS, "last-event-id": str(waiting.last_event_id), "mcp-protocol-version": "1999-01-01"},
        opened_by=waiting.request,
        version=LEGACY,
    )

    assert (resumed.status, resumed.code) == (400, -32600)
