"""Any input, from a client or a workflow, gets a well-formed answer and causes no internal error."""

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepwire.json_text import as_object, is_object, write
from stepwire.tasks.outcomes import PROTOCOL_ERROR_NAME, ExecutionEnd, ExecutionFailed, Succeeded
from tests.kits import ALLOWED_ORIGIN, LISTING, OPTIONAL, OUTPUT, STRUCTURED, World
from tests.server.answers import Answer, Json
from tests.server.anything import (
    ACCEPT,
    IN_SESSION,
    METHODS,
    SESSION_ID,
    STREAM,
    TASK_ID,
    VERSIONS,
    Sent,
    valid_requests,
    version_of,
    world_with_active_task,
)
from tests.server.clients import (
    ASKING_CAPABILITY,
    STREAM_HEADERS,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
    RawSender,
)
from tests.strategies import json_values
from tests.wire_oracle import LEGACY, MODERN

LIKELY: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "optional",
    TASK_ID,
    MODERN,
    LEGACY,
    [],
    {},
    {"text": "hello"},
    TASKS_CAPABILITY,
    ASKING_CAPABILITY,
    ACCEPT,
    [TASK_ID],
    {"taskIds": [TASK_ID]},
    f"{TASK_ID}.1",
)


values: st.SearchStrategy[Any] = st.sampled_from(LIKELY).map(copy.deepcopy) | json_values
names = st.sampled_from(
    (
        *("name", "arguments", "task", "taskId", "cursor", "_meta", "ttl", "protocolVersion", "id", "result", "error"),
        *("inputResponses", "requestState", "notifications", "taskIds", "requestId", "progressToken", "elicitation"),
    )
)
headers: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from(("application/json", "text/plain")),
        "accept": st.sampled_from(("application/json", "*/*", "text/html")) | st.text(),
        "origin": st.sampled_from((ALLOWED_ORIGIN, "https://evil.example")) | st.text(),
        "mcp-protocol-version": st.sampled_from(VERSIONS) | st.text(),
        "mcp-method": st.sampled_from(METHODS) | st.text(),
        "mcp-name": st.sampled_from(("optional", TASK_ID, "=?base64?b3B0aW9uYWw=?=", "=?base64?A?=")) | st.text(),
        "mcp-session-id": st.just(SESSION_ID) | st.text(),
        "last-event-id": st.just(STREAM.last_event_id) | st.text(),
    },
)


VALID: tuple[Sent, ...] = tuple(valid_requests())


@st.composite
def requests_with_changes(draw: st.DrawFn) -> Sent:
    """Draw a valid request with up to three random changes."""
    right = draw(st.sampled_from(VALID))
    message, changed = copy.deepcopy(right.message), dict(right.headers)
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            change_one_member(draw, message, draw(names))
        else:
            changed |= draw(headers)
            changed.pop(draw(st.sampled_from(sorted(right.headers))), None)
    return Sent(message, changed)


def change_one_member(draw: st.DrawFn, whole: Json, new_name: str) -> None:
    """Replace, add or remove one random member of an object."""
    place = whole
    while draw(st.booleans()) and (
        inner := [as_object(value) for value in place.values() if value and is_object(value)]
    ):
        place = draw(st.sampled_from(inner))
    name = draw(st.sampled_from(sorted(place)) if place else st.just(new_name))
    match draw(st.sampled_from(("replace", "add", "remove"))):
        case "replace":
            place[name] = draw(values)
        case "add":
            place[new_name] = draw(values)
        case _:
            place.pop(name, None)


def send(body: Any, sent_headers: dict[str, Any]) -> Answer:
    """Send anything to a world with an active task; check the answer."""
    world = world_with_active_task()
    version = LEGACY if isinstance(body, bytes) else version_of(as_object(body), sent_headers)

    answer = RawSender(world).send(body, sent_headers, version=version)

    assert world.faults == world.troubles == []
    return answer


def is_any_answer(answer: Answer) -> bool:
    """Tell whether an answer is a result, an error, an unfinished stream or an acceptance (202)."""
    if answer.status == 202:
        return True
    return answer.is_stream or bool(answer.body.keys() & {"result", "error"})


@given(st.binary(max_size=400), headers)
def test_any_bytes_get_an_answer(body: bytes, sent_headers: dict[str, Any]) -> None:
    answer = send(body, sent_headers)

    assert answer.status >= 400


@given(json_values, headers)
def test_any_json_gets_an_answer(body: Any, sent_headers: dict[str, Any]) -> None:
    answer = send(body, sent_headers)

    assert answer.status >= 400


@settings(max_examples=5 * settings().max_examples)
@given(requests_with_changes())
def test_a_request_with_random_changes_gets_an_answer(sent: Sent) -> None:
    answer = send(sent.message, sent.headers)

    assert is_any_answer(answer)


@settings(max_examples=3 * settings().max_examples)
@given(headers, st.sampled_from(("accept", "mcp-protocol-version", "mcp-session-id", "last-event-id")))
def test_any_get_gets_an_answer(sent_headers: dict[str, Any], left_out: str) -> None:
    world = world_with_active_task()
    right = {**STREAM_HEADERS, **IN_SESSION, "accept": "text/event-stream", "last-event-id": STREAM.last_event_id}
    spoiled = {**right, **sent_headers}
    spoiled.pop(left_out)

    answer = RawSender(world).get(spoiled, opened_by=STREAM.request)

    assert answer.status in {200, 400, 403, 404, 405, 406}
    assert "text/html" in spoiled.get("accept", "") or not answer.is_page
    assert world.faults == world.troubles == []


@pytest.mark.parametrize("sent", VALID, ids=lambda sent: f"{sent.message.get('method')}")
def test_the_requests_are_valid_before_they_are_changed(sent: Sent) -> None:
    answer = send(sent.message, sent.headers)

    if answer.status == 202 or answer.is_stream:
        return
    unknown_here = answer.body.get("error", {}).get("code") == -32601
    assert unknown_here or "result" in answer.body or "taskId" in json.dumps(answer.body)


BLOCKS: tuple[Json, ...] = (
    {"type": "text", "text": "a"},
    {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
    {"type": "audio", "data": "", "mimeType": "audio/wav", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "resource", "resource": {"uri": "file:///a", "text": "a", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "file:///a", "blob": "aGVsbG8="}, "_meta": {"example/a": 1}},
    {"type": "resource_link", "uri": "https://example.com/a", "name": "a", "size": 7, "title": "A"},
)


@st.composite
def blocks(draw: st.DrawFn) -> Json:
    """Draw a valid content block with at most one random change."""
    block = copy.deepcopy(draw(st.sampled_from(BLOCKS)))
    if draw(st.booleans()):
        change_one_member(
            draw, block, draw(st.sampled_from(("annotations", "_meta", "uri", "blob", "text", "size", "more")))
        )
    return block


results: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"content": st.lists(blocks(), max_size=2) | values},
    optional={"structuredContent": values, "isError": st.booleans(), "_meta": values, "extra": values},
)
# The published types treat null as absent, so the oracle cannot check it.
outputs = (values | results).filter(
    lambda value: value is not None and as_object(value).get("structuredContent", 0) is not None
)
errors: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"code": st.integers() | values, "message": st.text() | values}, optional={"data": values}
)
ends: st.SearchStrategy[ExecutionEnd] = (
    st.builds(Succeeded, outputs.map(write) | st.text(min_size=1).filter(lambda text: text.strip() != "null"))
    | st.builds(ExecutionFailed, st.text(), st.text() | values.map(write))
    | st.builds(ExecutionFailed, st.just(PROTOCOL_ERROR_NAME), st.text() | errors.map(json.dumps))
)


@settings(max_examples=5 * settings().max_examples)
@example(Succeeded('{"content":[],"_meta":{"example/a":null}}'), OPTIONAL.name)
@given(ends, st.sampled_from((OPTIONAL.name, STRUCTURED.name, LISTING.name)))
def test_any_end_of_a_workflow_is_well_formed_in_both_eras(end: ExecutionEnd, tool: str) -> None:
    world = World()
    legacy, modern = LegacyClient(world), ModernClient(world)
    task_id = legacy.start(tool)

    world.workflows.end(world.workflows.execution_of(task_id), end)
    world.deliver()
    found = modern.task("get", task_id).result
    listed = legacy.ask("tasks/list").result["tasks"]
    told = legacy.task("result", task_id).body

    assert found["status"] in {"completed", "failed"}
    assert listed == [legacy.task("get", task_id).result]
    assert told.keys() & {"result", "error"}
    assert world.faults == []


def test_the_drawn_ends_include_a_valid_result() -> None:
    world = World()
    task_id = LegacyClient(world).start()

    world.succeed(task_id, OUTPUT)

    assert ModernClient(world).task("get", task_id).result["status"] == "completed"
