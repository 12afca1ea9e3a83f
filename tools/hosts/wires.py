"""The wire formats in which a host talks to its model: read a request as a conversation, write the model's turn.

Pure. Each wire knows the paths of its API, and streams the whole turn in one body. A request that is no conversation,
such as a count of tokens, has an answer of its own.
"""

import json
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

Json = dict[str, Any]
JSON: Final = "application/json"
STREAM: Final = "text/event-stream"
_CALLS_IN_TEXT: Final = re.compile(r"^Calling tools:\n(\[.*\])", re.DOTALL | re.MULTILINE)
_RESULT_IN_TEXT: Final = re.compile(r"^Observation:\n(.*)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Conversation:
    """What a model is shown."""

    offered: tuple[str, ...] = ()
    """The tools that it may call, as the host names them."""
    called: tuple[str, ...] = ()
    """The tools that it has called in this conversation."""
    results: tuple[str, ...] = ()
    """The text of each tool result, in the order of the conversation."""
    said: tuple[str, ...] = ()
    """The text of each message that is no tool result."""


@dataclass(frozen=True)
class Call:
    """A turn that calls a tool, by the name that the host gave it."""

    tool: str
    arguments: Json


@dataclass(frozen=True)
class Say:
    """A turn that says something and ends."""

    text: str


Turn = Call | Say


@dataclass(frozen=True)
class Body:
    """A response."""

    content_type: str
    text: str

    @property
    def filler(self) -> str:
        """What may come before it any number of times, and means nothing: a comment in a stream, a space in JSON."""
        return ": wait\n\n" if self.content_type == STREAM else " "


class Anthropic:
    """The Messages API."""

    def reads(self, path: str) -> bool:
        """Tell whether a path belongs to this API."""
        return path.startswith("/v1/messages")

    def aside(self, path: str) -> Body | None:
        """Answer a request that is no conversation."""
        return Body(JSON, json.dumps({"input_tokens": 1})) if path.endswith("/count_tokens") else None

    def conversation(self, body: Json) -> Conversation:
        """Read a request."""
        blocks = [block for message in _items(body, "messages") for block in _blocks(message["content"])]
        return Conversation(
            offered=tuple(tool["name"] for tool in _items(body, "tools")),
            called=tuple(block["name"] for block in blocks if block["type"] == "tool_use"),
            results=tuple(_text(_blocks(one.get("content", ""))) for one in blocks if one["type"] == "tool_result"),
            said=tuple(block["text"] for block in blocks if block["type"] == "text"),
        )

    def body(self, path: str, request: Json, turn: Turn, number: int) -> Body:
        """Write a turn, with a number that no other turn has."""
        match turn:
            case Call(tool, arguments):
                start: Json = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}
                delta, why = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use"
                whole = {**start, "input": arguments}
            case Say(text):
                start, delta, why = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
                whole = {"type": "text", "text": text}
        message: Json = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if not request.get("stream"):
            return Body(JSON, json.dumps({**message, "content": [whole], "stop_reason": why}))
        return _named_events(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        )


class OpenAi:
    """The Chat Completions API; one host (smolagents) tells its model of earlier calls and results in messages."""

    def reads(self, path: str) -> bool:
        """Tell whether a path belongs to this API."""
        return path.endswith("/chat/completions")

    def aside(self, path: str) -> Body | None:
        """Answer a request that is no conversation: there is none."""

    def conversation(self, body: Json) -> Conversation:
        """Read a request."""
        messages = _items(body, "messages")
        said = tuple(_text(_blocks(one.get("content") or "")) for one in messages if one["role"] != "tool")
        calls = [call for message in messages for call in _items(message, "tool_calls")]
        calls += [call for text in said if (told := _CALLS_IN_TEXT.search(text)) for call in literal_eval(told[1])]
        results = [_text(_blocks(one["content"])) for one in messages if one["role"] == "tool"]
        return Conversation(
            offered=tuple(tool["function"]["name"] for tool in _items(body, "tools")),
            called=tuple(call["function"]["name"] for call in calls),
            results=(*results, *(told[1] for text in said if (told := _RESULT_IN_TEXT.search(text)))),
            said=said,
        )

    def body(self, path: str, request: Json, turn: Turn, number: int) -> Body:
        """Write a turn, with a number that no other turn has."""
        match turn:
            case Call(tool, arguments):
                function = {"name": tool, "arguments": json.dumps(arguments)}
                call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
                message, why = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
            case Say(text):
                message, why = {"role": "assistant", "content": text}, "stop"
        common = {"id": f"chat_{number}", "created": 0, "model": request["model"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": why}
            return Body(JSON, json.dumps({**common, "object": "chat.completion", "choices": [choice], "usage": usage}))
        chunk: Json = {**common, "object": "chat.completion.chunk"}
        begun = {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
        ended: Json = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": usage}
        return Body(STREAM, "".join([*_events(begun, ended), "data: [DONE]\n\n"]))


class Responses:
    """The Responses API."""

    def reads(self, path: str) -> bool:
        """Tell whether a path belongs to this API."""
        return path.endswith("/responses")

    def aside(self, path: str) -> Body | None:
        """Answer a request that is no conversation: there is none."""

    def conversation(self, body: Json) -> Conversation:
        """Read a request; a tool in a namespace is offered as `namespace/name`."""
        whole: str | list[Json] = body.get("input") or []
        items: list[Json] = [{"role": "user", "content": whole}] if isinstance(whole, str) else whole
        calls = [one for one in items if one.get("type") == "function_call"]
        results = [one["output"] for one in items if one.get("type") == "function_call_output"]
        return Conversation(
            offered=tuple(name for tool in _items(body, "tools") for name in _names(tool)),
            called=tuple("/".join(filter(None, (one.get("namespace"), one["name"]))) for one in calls),
            results=tuple(_text(_blocks(one)) for one in results),
            said=tuple(_text(_blocks(one["content"])) for one in items if "role" in one),
        )

    def body(self, path: str, request: Json, turn: Turn, number: int) -> Body:
        """Write a turn, with a number that no other turn has."""
        item, parts = _called(turn, number) if isinstance(turn, Call) else _said(turn, number)
        whole = _response(request, number, [item])
        if not request.get("stream"):
            return Body(JSON, json.dumps(whole))
        empty: Json = {"arguments": ""} if isinstance(turn, Call) else {"content": []}
        started: Json = {**whole, "output": [], "status": "in_progress"}
        events: list[Json] = [
            {"type": "response.created", "response": started},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, **empty}},
            *({**one, "output_index": 0, "item_id": item["id"]} for one in parts),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        return _named_events(*({**one, "sequence_number": index} for index, one in enumerate(events)))


def _called(turn: Call, number: int) -> tuple[Json, list[Json]]:
    """Return the item of a turn that calls a tool, and the events between its begin and its end."""
    namespace, _, name = turn.tool.rpartition("/")
    arguments = json.dumps(turn.arguments)
    item: Json = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        **({"namespace": namespace} if namespace else {}),
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }
    named = "response.function_call_arguments"
    return item, [{"type": f"{named}.delta", "delta": arguments}, {"type": f"{named}.done", "arguments": arguments}]


def _said(turn: Say, number: int) -> tuple[Json, list[Json]]:
    """Return the item of a turn that says something, and the events between its begin and its end."""
    part: Json = {"type": "output_text", "text": turn.text, "annotations": []}
    item: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    parts: list[Json] = [
        {"type": "response.content_part.added", "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", "delta": turn.text},
        {"type": "response.output_text.done", "text": turn.text},
        {"type": "response.content_part.done", "part": part},
    ]
    return {**item, "content": [part]}, [{**one, "content_index": 0} for one in parts]


class Gemini:
    """The Gemini API."""

    def reads(self, path: str) -> bool:
        """Tell whether a path belongs to this API."""
        return "/models/" in path

    def aside(self, path: str) -> Body | None:
        """Answer a request that is no conversation."""
        return Body(JSON, json.dumps({"totalTokens": 1})) if ":countTokens" in path else None

    def conversation(self, body: Json) -> Conversation:
        """Read a request."""
        parts = [part for content in _items(body, "contents") for part in _items(content, "parts")]
        declared = [each for tool in _items(body, "tools") for each in _items(tool, "functionDeclarations")]
        responses = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        return Conversation(
            offered=tuple(each["name"] for each in declared),
            called=tuple(part["functionCall"]["name"] for part in parts if "functionCall" in part),
            results=tuple(str(one.get("output", one.get("error", one))) for one in responses),
            said=tuple(part["text"] for part in parts if "text" in part),
        )

    def body(self, path: str, request: Json, turn: Turn, number: int) -> Body:
        """Write a turn, with a number that no other turn has."""
        match turn:
            case Call(tool, arguments):
                part: Json = {"functionCall": {"id": f"call_{number}", "name": tool, "args": arguments}}
            case Say(text):
                part = {"text": text}
        answer = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "responseId": f"response_{number}",
        }
        if ":streamGenerateContent" in path:
            return Body(STREAM, "".join(_events(answer)))
        return Body(JSON, json.dumps(answer))


Wire = Anthropic | OpenAi | Responses | Gemini
WIRES: Final[tuple[Wire, ...]] = (Anthropic(), OpenAi(), Responses(), Gemini())


def _names(tool: Json) -> Iterator[str]:
    """Return the names of a tool of the Responses API, or of those in a namespace."""
    inner = [name for one in _items(tool, "tools") for name in _names(one)]
    prefix = f"{tool['name']}/" if inner else ""
    yield from (f"{prefix}{name}" for name in inner or [tool.get("name", "")])


def _response(request: Json, number: int, output: list[Json]) -> Json:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "status": "completed",
        "output": output,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**usage, **details},
    }


def _items(body: Json, name: str) -> list[Json]:
    """Return a list of objects in a body; empty where there is none."""
    return body.get(name) or []


def _blocks(content: object) -> list[Json]:
    """Return content as blocks; plain text is one block."""
    return cast(list[Json], content) if isinstance(content, list) else [{"type": "text", "text": str(content)}]


def _text(blocks: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(block["text"] for block in blocks if "text" in block)


def _events(*objects: Json) -> Iterator[str]:
    return (f"data: {json.dumps(one)}\n\n" for one in objects)


def _named_events(*objects: Json) -> Body:
    return Body(STREAM, "".join(f"event: {one['type']}\n{event}" for one in objects for event in _events(one)))
