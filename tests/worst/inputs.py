"""The most expensive inputs of each function: as large as AWS allows, in the most expensive shapes.

Each input goes to the whole function, over a store and workflows in memory.
"""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from msgspec.structs import replace

from stepwire.aws.background_functions import ExecutionEventsHandler, ExpirationsHandler, InputRequestsHandler
from stepwire.aws.status_changes_function import EventBus, StatusChangesHandler
from stepwire.aws.storage.items import item_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.background.sweep import Sweep
from stepwire.catalog.tools import Catalog, Tool, read_catalog
from stepwire.manifests.reading import compile_directory
from stepwire.protocol.inbound import LARGEST_BODY
from stepwire.tasks.outcomes import ExecutionEnd, ExecutionFailed, Succeeded
from stepwire.tasks.task import Completed, Task, Terms, ToolResult
from tests.adopted import write_manifests
from tests.extras import parts
from tests.fuzz.mcp_requests import OWNER, FunctionMcp
from tests.fuzz.other_events import FakeBus, change_services
from tests.kits import FORM, OUTPUT_SCHEMA, TOOLS, World, catalog_of
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.anything import EVERYTHING, RIGHT, TASK_ID, ask_everything
from tests.server.clients import TASKS_CAPABILITY, ModernClient
from tests.worst.client_results import client_results
from tests.worst.manifests import BOTH_SHAPED_AND_CHECKED, shapes, tools_with_defaults
from tests.worst.shapes import LARGEST, SCHEMAS, filled, is_served, one_of, texts

LONGEST_HEADER: Final = 8_000  # bytes; API Gateway takes 10,240 of all headers together
LONGEST_CAUSE: Final = 32_768  # characters
LARGEST_BATCH: Final = 6 * 10**6  # bytes; the limit of a Lambda event
_TEXT: Final = "optional"
_OWN_SCHEMAS: Final = ("an optional member", "closed", "a tree", "names", "a tree of choices", "unevaluated")


@dataclass(frozen=True)
class Input:
    """An input, and the function that gets it."""

    function: str
    name: str
    act: Callable[[], object]


def inputs(every: int = 1) -> Iterator[Input]:
    """Return inputs of all functions.

    Args:
        every: Of the pairs of a tool and its arguments, and of an end and what is promised of it, one of so many.
    """
    _world.cache_clear()
    yield from _of_mcp(every)
    yield from _of_execution_events(every)
    for part in parts("worst"):
        yield from part.inputs()
    yield from _of_input_requests()
    yield from _of_streams()
    yield from _of_sweep()


@cache
def _registered() -> tuple[Tool, ...]:
    with TemporaryDirectory() as folder:
        compiled = compile_directory(write_manifests(Path(folder)))
    return read_catalog(compiled, {}).in_order


def _tools() -> Iterator[Tool]:
    yield from _registered()
    yield from TOOLS
    yield from tools_with_defaults()
    for name, schema in SCHEMAS.items():
        if is_served(schema):
            written = json.dumps({"type": "object", **schema}), json.dumps(schema)
            yield replace(TOOLS[0], name=name.replace(" ", "_")[:60], input_schema=written[0], output_schema=written[1])


@cache
def _catalog() -> Catalog:
    catalog = catalog_of(*_tools())
    catalog.compile_schemas()
    return catalog


@cache
def _world() -> World:
    """Make a world for one list of inputs (`inputs`): what its functions do in it depends on no other list."""
    return World(catalog=_catalog(), polls_per_second=10)


# ----------------------------------------------------------------------------------------------------- function mcp


def _of_mcp(every: int) -> Iterator[Input]:
    world = _world()
    client = ModernClient(world, OWNER, {**TASKS_CAPABILITY, **EVERYTHING})
    task_id = client.start()
    assert task_id == TASK_ID
    ask_everything(world)
    for tool, (name, text) in one_of(every, product(world.catalog.in_order, texts().items())):
        yield _posted(f"call of {tool.name} with {name}", _call(tool.name, _arguments(tool, text)))
    for name, text in _bodies():
        yield _posted(f"body of {name}", text)
        yield _posted(f"arguments of {name}", _call(_TEXT, f'{{"text":{text}}}'))
    for name, text in texts().items():
        answers = f'{{"approval":{{"action":"accept","content":{_object(text)}}}}}'
        yield _posted(f"answer of {name}", _modern("tasks/update", f'"taskId":"{task_id}","inputResponses":{answers}'))
        yield _posted(
            f"answers of {name}", _modern("tasks/update", f'"taskId":"{task_id}","inputResponses":{_object(text)}')
        )
        yield _posted(f"response of {name}", f'{{"jsonrpc":"2.0","id":"{task_id}.1","result":{_object(text)}}}')
        yield _posted(
            f"client of {name}", legacy("initialize", f'"protocolVersion":"2025-11-25","capabilities":{_object(text)}')
        )
        yield _posted(
            f"state of {name}", _modern("tools/call", f'"name":"confirmed","requestState":{json.dumps(text)}')
        )
        yield _posted(f"cursor of {name}", _modern("tools/list", f'"cursor":{json.dumps(text)}'))
        yield _posted(f"task of {name}", _modern("tasks/get", f'"taskId":{json.dumps(text)}'))
        yield _posted(
            f"cancelled {name}",
            f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{text}}}}}',
        )
    for name, key, text in client_results(LARGEST_BODY - 1_000):
        answers = f'{{"{key}":{text}}}'
        number = list(RIGHT).index(key) + 1
        yield _posted(f"{key} of {name}", _modern("tasks/update", f'"taskId":"{task_id}","inputResponses":{answers}'))
        yield _posted(f"response {key} of {name}", f'{{"jsonrpc":"2.0","id":"{task_id}.{number}","result":{text}}}')
    yield from _headers()
    yield from _results(client)


def _bodies() -> Iterator[tuple[str, str]]:
    """Return JSON texts of the maximum body size, each of few kinds of tokens."""
    room = LARGEST_BODY - 300
    parts: dict[str, Callable[[int], str]] = {
        "empty objects": lambda _: "{}",
        "empty arrays": lambda _: "[]",
        "small objects": lambda _: '{"":0}',
        "ones": lambda _: "1",
        "decimals": lambda _: "1.5",
        "exponents": lambda _: "1E5",
        "long decimals": lambda _: "0.3000000000000000",
        "tiny decimals": lambda _: "10e-301",
        "texts": lambda number: f'"{number:x}"',
    }
    for name, part in parts.items():
        yield name, filled(part, room=room)
    yield "members", filled(lambda number: f'"{number:x}":0', "{", "}", room)
    yield "escapes", '"' + "\\u0000" * (room // 6) + '"'
    yield "wide escapes", '"' + "\\ud83d\\ude00" * (room // 12) + '"'
    yield "one text", '"' + "ü" * (room // 2) + '"'
    yield "depth", '{"a":' * 150_000


def _headers() -> Iterator[Input]:
    names = (
        "mcp-session-id",
        "last-event-id",
        "mcp-name",
        "idempotency-key",
        "accept",
        "origin",
        "mcp-protocol-version",
    )
    values = {
        "letters": "A" * LONGEST_HEADER,
        "a token": base64.urlsafe_b64encode(b"[" * (LONGEST_HEADER // 2)).decode(),
        "a list": "a/b," * (LONGEST_HEADER // 4),
        "encoded": f"=?base64?{'A' * LONGEST_HEADER}?=",
    }
    for name in names:
        for shown, value in values.items():
            for method in ("GET", "POST"):
                event = event_of(legacy("tools/list", ""), method)
                event["headers"][name] = value
                yield _handled(f"{method} with {name} of {shown}", event)


def _results(client: ModernClient) -> Iterator[Input]:
    world = _world()
    for name, text in texts().items():
        task_id = client.start()
        execution = world.workflows.execution_of(task_id)
        world.workflows.states[execution] = Succeeded(text)
        world.events.record(_change(world, task_id, Succeeded(text)))
        yield _posted(f"result of {name}", _modern("tasks/get", f'"taskId":"{task_id}"'))
        yield _posted(f"legacy result of {name}", legacy("tasks/result", f'"taskId":"{task_id}"'))


def _arguments(tool: Tool, text: str) -> str:
    if text.startswith("{"):
        return text
    members = list(json.loads(tool.input_schema).get("properties", {})) or ["a"]
    return f'{{"{members[-1]}":{text}}}'


def _object(text: str) -> str:
    return text if text.startswith("{") else f'{{"amount":{text}}}'


def _call(tool: str, arguments: str) -> str:
    return legacy("tools/call", f'"name":"{tool}","arguments":{arguments}')


def legacy(method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}'


def _modern(method: str, params: str) -> str:
    capabilities = json.dumps({**TASKS_CAPABILITY, **EVERYTHING})
    meta = (
        f'"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        f'"io.modelcontextprotocol/clientCapabilities":{capabilities}}}'
    )
    return f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{meta},{params}}}}}'


def _posted(name: str, body: str) -> Input:
    return _handled(name, event_of(body, "POST"))


def event_of(body: str, http_method: str) -> Json:
    event = recorded("http_post_jwt")
    method = body[:200].partition('"method":"')[2].partition('"')[0]
    is_modern = "2026-07-28" in body[:400]
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers["mcp-protocol-version"] = "2026-07-28" if is_modern else "2025-11-25"
    if is_modern:
        headers["mcp-method"] = method
    if is_modern and method == "tools/call":
        headers["mcp-name"] = "confirmed"
    event["headers"] = headers
    event["requestContext"]["http"]["method"] = http_method
    return {**event, "body": body, "isBase64Encoded": False}


def _handled(name: str, event: Json) -> Input:
    return Input("mcp", name, lambda: FunctionMcp(_world().server)(event, None))


# ------------------------------------------------------------------------------------------------ the other functions


def _of_execution_events(every: int) -> Iterator[Input]:
    for end in one_of(every, _ended_as_promised()):
        yield _ended(*end)
    for name, text in texts().items():
        event = recorded("progress_reported")
        event["detail"] = {"progress": 40, "message": text[: LARGEST - 1_000]}
        yield _taken(f"progress of {name}", event)
        yield _taken(f"progress that is {name}", {**event, "detail": json.loads(text)})


def _ended_as_promised() -> Iterator[tuple[str, ExecutionEnd, str | None, str | None]]:
    """Return ends, each with an output schema and a shape that the tool may have."""
    promised = (None, json.dumps(OUTPUT_SCHEMA), *(json.dumps(SCHEMAS[name]) for name in _OWN_SCHEMAS))
    for name, end in _ends():
        for number, schema in enumerate(promised if isinstance(end, Succeeded) else promised[:1]):
            yield f"end with {name}, schema {number}", end, schema, None
    for (shown, shape), (name, text) in product(shapes(), texts().items()):
        yield f"end with {name}, {shown}", Succeeded(text), None, shape
        if shown in BOTH_SHAPED_AND_CHECKED:
            for number, schema in enumerate(promised[2:]):
                yield f"end with {name}, {shown}, schema {number}", Succeeded(text), schema, shape


def _ends() -> Iterator[tuple[str, ExecutionEnd]]:
    for name, text in texts().items():
        yield name, Succeeded(text)
        if text.startswith("["):
            yield f"content of {name}", Succeeded(f'{{"content":{text}}}')
    blocks: dict[str, str] = {
        "texts": '{"type":"text","text":"a"}',
        "unfinished texts": '{"type":"text"}',
        "resources": '{"type":"resource","resource":{"uri":"a:b","text":""}}',
        "broken resources": '{"type":"resource","resource":{"uri":"a:b"}}',
        "links": '{"type":"resource_link","uri":"a:b","name":"a"}',
    }
    for name, block in blocks.items():
        whole = filled(lambda _, block=block: block)
        yield f"many {name}", Succeeded(f'{{"content":{whole}}}')
        yield f"some {name}", Succeeded(f'{{"content":[{",".join([block] * 1_000)}]}}')
    image = f'{{"type":"image","mimeType":"a/b","data":"{"A" * (LARGEST - 200)}"}}'
    yield "an image", Succeeded(f'{{"content":[{image}]}}')
    yield "no integer", Succeeded("9" * LARGEST)
    yield "long integers", Succeeded(filled(lambda _: "9" * 4_000))
    causes = {
        "ARNs": "arn:aws:a:" * 4_000,
        "accounts": "123456789012 " * 3_000,
        "JSON": "[" * 9_000 + "]" * 9_000,
        "a text": "x" * LONGEST_CAUSE,
    }
    for name, cause in causes.items():
        for error in ("Some.Error", "Stepwire.ProtocolError"):
            yield f"a cause of {name}, {error}", ExecutionFailed(error, cause[:LONGEST_CAUSE])


def _ended(name: str, end: ExecutionEnd, output_schema: str | None, shape: str | None) -> Input:
    def act() -> None:
        tool = replace(TOOLS[0], output_schema=output_schema, output_shape=shape)
        world = World(catalog=catalog_of(tool))
        task = world.call(tool)
        world.events.record(_change(world, task.task_id, end))

    return Input("execution_events", name, act)


def _change(world: World, task_id: str, end: ExecutionEnd) -> ExecutionStatusChange:
    return ExecutionStatusChange(world.workflows.execution_of(task_id), end)


def _taken(name: str, event: Json) -> Input:
    world = World()
    handler = ExecutionEventsHandler()
    vars(handler)["_events"] = world.events
    return Input("execution_events", name, lambda: handler(event, None))


def _of_input_requests() -> Iterator[Input]:
    values = {**texts(), **dict(forms())}
    for name, text in values.items():
        value = json.loads(text)
        elicitations: dict[str, Json] = {
            "a question that is": value,
            "a form of": {"message": "m", "requestedSchema": value},
            "properties of": {"message": "m", "requestedSchema": {"type": "object", "properties": value}},
            "a message of": {"message": text, "requestedSchema": FORM["requestedSchema"]},
        }
        for shown, elicitation in elicitations.items():
            yield _asked(f"{shown} {name}", {**recorded("input_requested"), "elicitation": elicitation})
        yield _asked(f"a key of {name}", {**recorded("input_requested"), "key": value})
        yield _asked(f"a time of {name}", {**recorded("input_requested"), "timeout_seconds": value})


def forms() -> Iterator[tuple[str, str]]:
    """Return properties of forms of the maximum size."""
    room = 16_000
    yield "small fields", filled(lambda number: f'"{number}":{{"type":"string"}}', "{", "}", room)
    yield "wrong fields", filled(lambda number: f'"{number}":{{"type":"strin"}}', "{", "}", room)
    yield "empty fields", filled(lambda number: f'"{number}":{{}}', "{", "}", room)
    choices = filled(lambda number: f'{{"const":"{number}","title":""}}', room=room)
    yield "titled choices", f'{{"a":{{"type":"string","oneOf":{choices}}}}}'
    yield (
        "many options",
        f'{{"a":{{"type":"string","enum":{filled(lambda number: json.dumps(str(number)), room=room)}}}}}',
    )


def _asked(name: str, event: Json) -> Input:
    world = World()
    handler = InputRequestsHandler()
    vars(handler)["_requests"] = world.requests
    return Input("input_requests", name, lambda: handler(event, None))


def _of_streams() -> Iterator[Input]:
    world = World()
    running = world.call()
    for name, text in {
        "a long text": texts()["long a"],
        "members": texts()["members"],
        "objects": texts()["objects"],
    }.items():
        task = replace(running, work=replace(running.work, terms=Terms(text)))
        ended = replace(task, status=Completed(ToolResult('{"content":[]}', is_error=False)), version=2)
        count = LARGEST_BATCH // (2 * len(json.dumps(item_of(ended))))
        removed = [_record(number, "REMOVE", task, None) for number in range(2 * count)]
        modified = [_record(number, "MODIFY", task, ended) for number in range(count)]
        expirations, changes = ExpirationsHandler(), StatusChangesHandler()
        vars(expirations)["_expirations"] = world.expirations
        vars(changes).update(services=change_services(), _bus=EventBus("a-bus", lambda: cast(Any, FakeBus())))
        for shown, records in (("removed", removed), ("modified", modified)):
            event = {"Records": records}
            yield Input("expirations", f"{shown} with {name}", giving(expirations, event))
            yield Input("status_changes", f"{shown} with {name}", giving(changes, event))


def giving(handler: Callable[[Any, object], object], event: Json) -> Callable[[], object]:
    return lambda: handler(event, None)


def _record(number: int, happened: str, before: Task, after: Task | None) -> Json:
    images: Json = {
        "SequenceNumber": str(number),
        "ApproximateCreationDateTime": 1_785_585_600,
        "OldImage": item_of(before),
    }
    if after is not None:
        images["NewImage"] = item_of(after)
    identity = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    return {"eventName": happened, "dynamodb": images, "userIdentity": identity}


def _of_sweep() -> Iterator[Input]:
    for name, end in _ends():
        world = World()
        task = world.call()
        world.workflows.states[world.workflows.execution_of(task.task_id)] = end
        world.clock.advance(seconds=world.intervals.repair.total_seconds())
        sweep = Sweep(world.sweeping())
        yield Input("sweep", f"a task that ended with {name}", sweep.run)
