"""Forged session tokens and event ids: each gets a well-formed answer and nothing of another caller."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwire.errors import InvalidRequest
from stepwire.protocol.tokens import TaskNews, position_of, wrap
from tests.kits import ALICE, BOB, World
from tests.server.answers import Answer, Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    PLAIN_HEADERS,
    STREAM_HEADERS,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
    RawSender,
)
from tests.strategies import json_values
from tests.wire_oracle import LEGACY


# L10, G: the client then opens another session
@pytest.mark.parametrize(
    "garbled",
    [
        *("", "x", "a session", "=", "a", "W10", " WzFd", "[1]", wrap([1]), wrap([1, LEGACY, "", {}, ""])),
        wrap([2, LEGACY, "", "", {}, 0, ""]),
        wrap([1, 1, "", "", {}, 0, ""]),
        wrap([1, LEGACY, 7, "", {}, 0, ""]),
        wrap([1, LEGACY, "", 7, {}, 0, ""]),
        wrap([1, LEGACY, "", "", [], 0, ""]),
        wrap([1, LEGACY, "", "", {}, 0, 7]),
        wrap([1, LEGACY, "", "", {}, 0]),
        wrap([1, LEGACY, "", "", {}, 0, "", ""]),
        wrap([1, LEGACY, "", "", {}, 0, "x" * 3_000]),
    ],
)
def test_a_session_that_cannot_be_read_is_not_found(resuming: LegacyClient, garbled: str) -> None:
    first = resuming.task("result", resuming.start())

    posted = resuming.ask("tools/list", headers={"mcp-session-id": garbled})
    got = resuming.resume(first.last_event_id, opened_by=first.request, headers={"mcp-session-id": garbled})
    told = resuming.notify("notifications/initialized", headers={"mcp-session-id": garbled})

    assert [(one.status, one.code) for one in (posted, got, told)] == [(404, -32600)] * 3


# L10: the flag in the session id, which says what the client can resume, is only a claim of the client
@pytest.mark.parametrize(("flag", "is_polled"), [(0, False), (1, True), (2, False), (3, True)])
def test_a_forged_flag_harms_only_the_client_that_forged_it(world: World, flag: int, is_polled: bool) -> None:
    forged = LegacyClient(world, session=wrap([1, LEGACY, "anybody", "1", {}, flag, ""]))

    assert forged.call("optional").is_stream == is_polled


@pytest.mark.parametrize("flag", [4, -1, 1.0, True, "1", None, [1]])
def test_a_session_with_an_unknown_flag_is_refused(world: World, flag: Any) -> None:
    forged = LegacyClient(world, session=wrap([1, LEGACY, "anybody", "1", {}, flag, ""]))

    assert forged.call("optional").status == 404


# ----------------------------------------------------------------------------------------------------- forged event ids


NEWS: Final[list[Any]] = [1, "0" * 36, False, 0, -1, False, False]
POSITION: Final[list[Any]] = [1, NEWS, 0, 0, 0, 0, False]
FORGED_NEWS: Final[dict[int, tuple[Any, ...]]] = {
    0: (0, 3, None),
    1: (7, "0" * 3_000),
    2: (2, 1),
    3: (-1, 0.5, True),
    4: ("0", True, None),
    5: (0,),
    6: (1,),
}
FORGED_FIELDS: Final[dict[int, tuple[Any, ...]]] = {
    0: (None, 1.5, True, "x" * 257),
    1: (
        *([], "0" * 36, None, NEWS[:-1], [*NEWS, 0], [2, "approval_answer"]),
        *([*NEWS[:place], one, *NEWS[place + 1 :]] for place, others in FORGED_NEWS.items() for one in others),
    ),
    2: (-1,),
    3: ("0", 1.5),
    4: (False, 1.5),
    5: (-1, True),
    6: (None, "0", 2),
}


# L8: event ids are checked as any other input
@pytest.mark.parametrize(
    "forged",
    [
        *("", "0", "nonsense", "ü", "=" * 10, "A" * 100_000, "=", "a", "W10", "Wz\n", " WzFd", "[1]"),
        *map(wrap, ([], POSITION[:-1], [*POSITION, 0], dict(enumerate(POSITION)), [POSITION])),
        *(
            wrap([*POSITION[:place], value, *POSITION[place + 1 :]])
            for place, values in FORGED_FIELDS.items()
            for value in values
        ),
    ],
)
def test_an_event_id_that_was_never_issued_is_refused(resuming: LegacyClient, world: World, forged: str) -> None:
    answer = resuming.resume(forged, opened_by={})

    assert (answer.status, answer.code) == (400, -32600)
    assert world.store.calls == []


# L8, T13: a well-formed id of a task that does not exist
@pytest.mark.parametrize("task_id", ["0" * 36, "", "nonsense", "../x", "x" * 500])
def test_an_event_id_that_names_no_task_ends_its_stream(resuming: LegacyClient, task_id: str) -> None:
    forged = wrap(["r", [1, task_id, False, 0, -1, False, False], 0, 0, 0, 0, False])

    answer = resuming.resume(forged, opened_by={"id": "r", "method": "tasks/result", "params": {"taskId": task_id}})

    assert (answer.status, answer.code) == (200, -32602)


SECRET = "what only Alice may know"


def asks(world: World, task_id: str) -> None:
    """Let a task ask a question that contains a secret."""
    world.ask(task_id, elicitation={"mode": "url", "message": SECRET, "url": "https://sign.example"})


def ends(world: World, task_id: str) -> None:
    """Let a task end with a result that contains a secret."""
    world.succeed(task_id, {"text": SECRET})


@st.composite
def event_ids(draw: st.DrawFn) -> Any:
    """Draw any text, or a text in the form of an event id, for one of two tasks."""
    if draw(st.booleans()):
        return draw(st.text())
    news: list[Any] = [1, draw(st.integers(0, 1)), False, 0, -1, False, False]
    right: list[Any] = ["r", news, 0, 0, 0, 0, False]
    for _ in range(draw(st.integers(0, 3))):
        part, place = draw(st.sampled_from([(one, place) for one in (news, right) for place in (0, *range(2, 7))]))
        part[place] = draw(st.integers(-1, 10) | st.sampled_from((2**53 - 1, 1.5, True)) | json_values)
    return right


@st.composite
def session_ids(draw: st.DrawFn) -> str | None:
    """Draw any text, a text in the form of a session id, or None."""
    if draw(st.booleans()):
        return draw(st.none() | st.text())
    capabilities = st.sampled_from((ASKING_CAPABILITY, {})) | json_values
    version, flags = draw(st.just(LEGACY) | st.text()), draw(st.integers(0, 3))
    return wrap([1, version, draw(st.text()), draw(st.text()), draw(capabilities), flags, ""])


def got(world: World, event_id: str, session: str | None) -> Answer:
    """Resume as Bob with any event id; check the answer against the request that the id names."""
    headers = {**STREAM_HEADERS, "mcp-protocol-version": LEGACY, "last-event-id": event_id}
    try:
        position = position_of(event_id.strip(" \t"))
    except InvalidRequest:
        opened_by: Json = {}
    else:
        awaited = position.awaited
        is_result = isinstance(awaited, TaskNews) and not awaited.is_call
        method = "tasks/result" if is_result else "tools/call"
        params = {"taskId": awaited.task_id} if isinstance(awaited, TaskNews) else {"name": awaited.tool}
        opened_by = {"id": position.message_id, "method": method, "params": params}
    sent = headers if session is None else {**headers, "mcp-session-id": session}
    return RawSender(world, BOB).get(sent, opened_by=opened_by)


# L8, L10, L11, T24
@settings(max_examples=3 * settings().max_examples)
@given(event_ids(), session_ids(), st.sampled_from((asks, ends)))
def test_a_resumption_with_forged_ids_gets_a_well_formed_answer_and_no_secret_of_another_caller(
    forged: Any, session: str | None, happens: Callable[[World, str], None]
) -> None:
    world = World()
    alice = ModernClient(world, ALICE, capabilities={**ASKING_CAPABILITY, **TASKS_CAPABILITY})
    ids = [alice.start(), alice.start()]
    for task_id in ids:
        happens(world, task_id)
    before, stops = dict(world.store.tasks), list(world.workflows.stops)
    event_id = forged
    if not isinstance(forged, str):
        message_id, (kind, which, *received), *rest = forged
        event_id = wrap([message_id, [kind, ids[which], *received], *rest])

    answer = got(world, event_id, session)

    assert answer.status in {200, 400, 404, 405}
    assert SECRET not in answer.response.body
    assert (world.store.tasks, world.workflows.stops) == (before, stops)
    assert world.faults == world.troubles == []


# L10, L11
@given(session_ids(), st.sampled_from(("tools/list", "tasks/list", "tasks/get", "tasks/result", "tools/call", "ping")))
def test_any_method_with_a_forged_session_gets_a_well_formed_answer(session: str | None, method: str) -> None:
    world = World()
    task_id = LegacyClient(world).start()
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"taskId": task_id, "name": "forbidden"}}
    headers = {**PLAIN_HEADERS, "mcp-protocol-version": LEGACY}
    headers = headers if session is None else {**headers, "mcp-session-id": session}

    answer = RawSender(world, BOB).send(message, headers)

    assert answer.status in {200, 404}
    assert task_id not in json.dumps(answer.messages)
    assert world.faults == []


# L12
def test_a_stream_cannot_be_resumed_in_an_unknown_version(world: World) -> None:
    client = LegacyClient.opened(world)
    answer = client.call("optional", task={})
    waiting = client.task("result", answer.id_in("task"))

    resumed = RawSender(world).get(
        {**STREAM_HEADERS, "last-event-id": str(waiting.last_event_id), "mcp-protocol-version": "1999-01-01"},
        opened_by=waiting.request,
        version=LEGACY,
    )

    assert (resumed.status, resumed.code) == (400, -32600)
