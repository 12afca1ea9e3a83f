"""Each wire format is read as the same conversation, and a turn is written as its API writes it."""

import json
from typing import Any

import pytest

from tests.hosts.wires import JSON, STREAM, Anthropic, Body, Call, Conversation, Gemini, OpenAi, Responses, Say, Wire

CALL = Call("stepwire_echo", {"text": "hello"})
ARGUMENTS = json.dumps(CALL.arguments)
SHOWN = Conversation(("stepwire_echo",), ("stepwire_echo",), ("done",), ("go",))
PATHS: dict[type[Wire], str] = {
    Anthropic: "/v1/messages",
    OpenAi: "/v1/chat/completions",
    Responses: "/v1/responses",
    Gemini: "/v1beta/models/any:streamGenerateContent",
}
REQUESTS: dict[type[Wire], dict[str, Any]] = {
    Anthropic: {
        "model": "any",
        "tools": [{"name": "stepwire_echo"}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "stepwire_echo", "input": {}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "done"}]}],
            },
        ],
    },
    OpenAi: {
        "model": "any",
        "tools": [{"type": "function", "function": {"name": "stepwire_echo"}}],
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "stepwire_echo"}}]},
        ],
    },
    Responses: {
        "model": "any",
        "tools": [{"type": "function", "name": "stepwire_echo"}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "function_call", "call_id": "1", "name": "stepwire_echo", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "done"},
        ],
    },
    Gemini: {
        "tools": [{"functionDeclarations": [{"name": "stepwire_echo"}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "stepwire_echo", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "stepwire_echo", "response": {"output": "done"}}}],
            },
        ],
    },
}
each_wire = pytest.mark.parametrize("kind", REQUESTS)


def data_of(body: Body) -> list[dict[str, Any]]:
    """Return the objects of a stream's events."""
    lines = [line.removeprefix("data: ") for line in body.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def written(kind: type[Wire], turn: Call | Say, **more: Any) -> Body:
    return kind().body(PATHS[kind], {**REQUESTS[kind], **more}, turn, 7)


@each_wire
def test_a_request_is_read_as_a_conversation(kind: type[Wire]) -> None:
    shown = kind().conversation(REQUESTS[kind])

    assert (shown.offered, shown.called, shown.results) == (SHOWN.offered, SHOWN.called, SHOWN.results)
    assert "go" in shown.said


@each_wire
def test_a_request_without_tools_and_messages_is_empty(kind: type[Wire]) -> None:
    assert kind().conversation({}) == Conversation()


def test_a_path_belongs_to_one_api() -> None:
    for kind, path in PATHS.items():
        assert [one for one in PATHS if one().reads(path)] == [kind]


def test_anthropic_streams_a_call_in_named_events() -> None:
    body = written(Anthropic, CALL, stream=True)

    events = data_of(body)
    assert body.content_type == STREAM
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
    assert body.text.count("event: ") == len(events)
    assert events[1]["content_block"]["name"] == CALL.tool
    assert events[2]["delta"] == {"type": "input_json_delta", "partial_json": ARGUMENTS}
    assert events[4]["delta"]["stop_reason"] == "tool_use"


def test_anthropic_answers_in_one_object_where_no_stream_is_asked_for() -> None:
    body = written(Anthropic, Say("done"))

    assert body.content_type == JSON
    assert json.loads(body.text)["content"] == [{"type": "text", "text": "done"}]


def test_anthropic_counts_tokens_without_a_turn() -> None:
    aside = Anthropic().aside("/v1/messages/count_tokens")

    assert aside is not None
    assert "input_tokens" in json.loads(aside.text)
    assert Anthropic().aside("/v1/messages") is None


def test_openai_streams_a_call_and_ends_the_stream() -> None:
    body = written(OpenAi, CALL, stream=True)

    begun, ended = data_of(body)
    assert begun["choices"][0]["delta"]["tool_calls"][0]["function"] == {"name": CALL.tool, "arguments": ARGUMENTS}
    assert ended["choices"][0]["finish_reason"] == "tool_calls"
    assert body.text.endswith("data: [DONE]\n\n")


def test_openai_answers_in_one_object_where_no_stream_is_asked_for() -> None:
    answered = json.loads(written(OpenAi, Say("done")).text)

    assert answered["choices"][0]["message"]["content"] == "done"
    assert answered["choices"][0]["finish_reason"] == "stop"


# smolagents sends neither tool calls nor messages of tools.
def test_openai_reads_calls_and_results_that_are_told_in_messages() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": CALL.tool, "arguments": CALL.arguments}}]
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": f"Calling tools:\n{calls}"}]},
        {"role": "user", "content": [{"type": "text", "text": "Observation:\ndone\nwell"}]},
    ]

    shown = OpenAi().conversation({"messages": messages})

    assert (shown.called, shown.results) == ((CALL.tool,), ("done\nwell",))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("turn", "kind"), [(CALL, "function_call"), (Say("done"), "message")])
def test_responses_end_with_the_whole_turn_streamed_or_not(turn: Call | Say, kind: str, stream: bool) -> None:
    body = written(Responses, turn, stream=stream)

    whole = data_of(body)[-1]["response"] if stream else json.loads(body.text)
    (item,) = whole["output"]
    assert (whole["status"], item["type"]) == ("completed", kind)
    if stream:
        assert [one["sequence_number"] for one in data_of(body)] == list(range(len(data_of(body))))
        assert "response.completed" in body.text


# Codex offers the tools of a server in a namespace.
def test_responses_name_a_tool_with_its_namespace() -> None:
    inner = {"type": "function", "name": "echo"}
    shown = Responses().conversation({"tools": [{"type": "namespace", "name": "mcp", "tools": [inner]}], "input": "go"})

    item, *_ = json.loads(written(Responses, Call("mcp/echo", {})).text)["output"]

    assert (shown.offered, shown.said) == (("mcp/echo",), ("go",))
    assert (item["namespace"], item["name"]) == ("mcp", "echo")


@pytest.mark.parametrize(("turn", "part"), [(CALL, "functionCall"), (Say("done"), "text")])
def test_gemini_streams_a_turn_in_one_event(turn: Call | Say, part: str) -> None:
    (answered,) = data_of(written(Gemini, turn))

    (shown,) = answered["candidates"][0]["content"]["parts"]
    assert part in shown
    assert answered["candidates"][0]["finishReason"] == "STOP"


def test_gemini_answers_in_one_object_where_no_stream_is_asked_for() -> None:
    body = Gemini().body("/v1beta/models/any:generateContent", {}, Say("done"), 7)

    assert body.content_type == JSON
    assert json.loads(body.text)["candidates"][0]["content"]["parts"] == [{"text": "done"}]
