"""Outputs that a workflow leaves in S3, because they are larger than Step Functions allows: `output.object`."""

import json

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.errors import ObjectsUnavailable
from stepwire.json_text import write
from stepwire.tasks.outcomes import LARGEST_OBJECT, Succeeded
from tests.kits import BOB, OPTIONAL, OUTPUT, OUTPUT_SCHEMA, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient

LEAVING = replace(
    OPTIONAL, name="leaving", output_schema=None, result_bucket="reports", output_shape=write({"object": "result"})
)
PROMISING = replace(LEAVING, name="promising", output_schema=write(OUTPUT_SCHEMA))
SHAPED = replace(
    LEAVING, name="shaped", output_shape=write({"object": "result", "structured": "{count: length(rows)}"})
)
CANNOT_BE_RETURNED = "The workflow succeeded, but the object that it left as its output cannot be returned"
ELSEWHERE = "it is not in the tool's result_bucket, below the task's result_prefix"
NO_NAME = "output.object is neither s3://bucket/key nor an object with Bucket and Key"
LARGE_INTEGER = "an integer is beyond ±(2^53 - 1) and would lose digits; send it as a string"
NOWHERE = replace(LEAVING, name="nowhere", result_bucket=None)


@pytest.fixture
def world() -> World:
    """A world with tools whose workflows leave their outputs in S3."""
    return World(catalog=catalog_of(LEAVING, PROMISING, SHAPED, NOWHERE, OPTIONAL))


def left(world: World, content: bytes, tool: str = "leaving", key: str = "out.json", *, as_parts: bool = False) -> str:
    """Call a tool whose workflow leaves an object below its prefix, and return the task's id."""
    task_id = ModernClient(world).start(tool)
    whole = f"{world.workflows.execution_of(task_id).name}/{key}"
    world.objects.contents["reports", whole] = content
    named: object = {"Bucket": "reports", "Key": whole} if as_parts else f"s3://reports/{whole}"
    world.succeed(task_id, {"result": named})
    return task_id


def result_of(world: World, task_id: str) -> Json:
    return ModernClient(world).task("get", task_id).result["result"]


# S1
@pytest.mark.parametrize("as_parts", [False, True])
def test_the_object_is_the_output_for_both_eras(world: World, as_parts: bool) -> None:
    output = {"text": "é" * 300_000}
    task_id = left(world, write(output).encode(), as_parts=as_parts)

    in_modern = result_of(world, task_id)
    in_legacy = LegacyClient(world).task("result", task_id).result

    assert in_modern["structuredContent"] == in_legacy["structuredContent"] == output
    assert json.loads(in_modern["content"][0]["text"]) == output
    assert not in_modern["isError"]


# S1
def test_an_object_of_the_largest_size_is_returned_and_fits_into_what_lambda_returns(world: World) -> None:
    content = b'"' + b'\\"' * ((LARGEST_OBJECT - 2) // 2) + b'"'
    task_id = left(world, content)

    response = ModernClient(world).task("get", task_id)

    assert response.result["result"]["structuredContent"] == json.loads(content)
    assert len(json.dumps({"body": json.dumps(response.body)})) < 6 * 1024 * 1024


# S1
def test_a_tool_with_a_shape_shapes_the_object(world: World) -> None:
    result = result_of(world, left(world, b'{"rows": [1, 2, 3]}', "shaped"))

    assert result["structuredContent"] == {"count": 3}


def test_an_output_that_names_no_object_is_the_output_itself(world: World) -> None:
    task_id = ModernClient(world).start("leaving")
    world.succeed(task_id, {"small": True})

    assert result_of(world, task_id)["structuredContent"] == {"small": True}
    assert world.objects.read == []


# S1
def test_the_object_keeps_the_promise_of_the_output_schema(world: World) -> None:
    kept = result_of(world, left(world, write(OUTPUT).encode(), "promising"))
    broken = result_of(world, left(world, b'{"answer": "none"}', "promising"))

    assert (kept["isError"], kept["structuredContent"]) == (False, OUTPUT)
    assert broken["isError"]
    assert "output schema" in broken["content"][0]["text"]


def test_an_object_is_read_once_at_the_end(world: World) -> None:
    task_id = left(world, b'{"text": "hello"}')

    for _ in range(3):
        result_of(world, task_id)

    assert len(world.objects.read) == 1


# What a caller or a document may make a workflow name: Stepwire must not become its deputy.
# S2
@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("s3://reports/another/out.json", ELSEWHERE),
        ("s3://reports/{name}x/out.json", ELSEWHERE),
        ("s3://reports/{name}/../{bob}/out.json", ELSEWHERE),
        ("s3://reports/{name}//out.json", ELSEWHERE),
        ("s3://reports/{name}/./out.json", ELSEWHERE),
        ("s3://reports/{name}/..", ELSEWHERE),
        ("s3://reports/{name}/", ELSEWHERE),
        ("s3://internal/{name}/out.json", ELSEWHERE),
        ("https://reports.example/{name}/out.json", ELSEWHERE),
        ({"Bucket": "internal", "Key": "{name}/out.json"}, ELSEWHERE),
        ({"Bucket": "reports", "Key": "../{name}/out.json"}, ELSEWHERE),
        ({"Bucket": "reports"}, NO_NAME),
        ({"Bucket": "reports", "Key": 7}, NO_NAME),
        (["s3://reports/{name}/out.json"], NO_NAME),
        (7, NO_NAME),
    ],
)
def test_no_object_outside_the_task_s_own_prefix_is_asked_for(world: World, named: object, reason: str) -> None:
    task_id = ModernClient(world).start("leaving")
    name = world.workflows.execution_of(task_id).name
    filled = json.loads(json.dumps(named).replace("{name}", name).replace("{bob}", BOB))
    world.succeed(task_id, {"result": filled})

    result = result_of(world, task_id)

    assert world.objects.read == []
    assert result["isError"]
    assert result["content"][0]["text"] == f"{CANNOT_BE_RETURNED}: {reason}."


@pytest.mark.parametrize(
    ("output", "expression", "reason"),
    [
        ('{"result": 12345678901234567890}', "result", f"the output that names it cannot be read: {LARGE_INTEGER}"),
        ('{"result": 5}', "sum(result)", "at output.object: sum() takes array-number, and was given number"),
    ],
)
def test_an_output_that_names_none_is_an_error_with_words(output: str, expression: str, reason: str) -> None:
    tool = replace(LEAVING, output_shape=write({"object": expression}))
    world = World(catalog=catalog_of(tool))
    task_id = ModernClient(world).start("leaving")
    world.workflows.end(world.workflows.execution_of(task_id), Succeeded(output))
    world.deliver()

    assert result_of(world, task_id)["content"][0]["text"] == f"{CANNOT_BE_RETURNED}: {reason}."


# S2
def test_a_tool_without_a_bucket_reads_nothing(world: World) -> None:
    task_id = left(world, b"{}", "nowhere")

    assert result_of(world, task_id)["isError"]
    assert world.objects.read == []


# S3
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is not JSON"),
        (b"a,b\n1,2\n", "it is not JSON"),
        (b'{"a": 1, "a": 2}', "it is not JSON that every client reads alike"),
        (b"\xff\xfe", "it is not JSON in UTF-8"),
        (b'"' + b"x" * LARGEST_OBJECT + b'"', "it has 1,000,002 bytes, and at most 1,000,000 can be returned"),
    ],
    ids=["empty", "CSV", "a duplicate key", "not UTF-8", "too large"],
)
def test_an_object_that_cannot_be_a_result_is_an_error_with_words(world: World, content: bytes, reason: str) -> None:
    task_id = left(world, content)

    in_modern, in_legacy = result_of(world, task_id), LegacyClient(world).task("result", task_id).result

    assert in_modern["isError"]
    assert in_legacy["isError"]
    assert f"{CANNOT_BE_RETURNED}: {reason}" in in_modern["content"][0]["text"]
    assert "reports" not in in_modern["content"][0]["text"]


# S3
def test_an_object_that_is_not_there_is_an_error_that_the_operator_reads_too(world: World) -> None:
    task_id = ModernClient(world).start("leaving")
    world.succeed(task_id, {"result": f"s3://reports/{world.workflows.execution_of(task_id).name}/out.json"})

    assert "there is no such object" in result_of(world, task_id)["content"][0]["text"]
    assert [entry.outcome for entry in world.audit if entry.action is AuditAction.UNSHAPED] == [
        "there is no such object"
    ]


# S3
def test_while_s3_does_not_answer_the_end_is_not_recorded_and_a_later_poll_records_it(world: World) -> None:
    world.objects.is_available = False
    task_id = ModernClient(world).start("leaving")
    key = f"{world.workflows.execution_of(task_id).name}/out.json"
    world.objects.contents["reports", key] = b'{"text": "hello"}'
    world.workflows.succeed(world.workflows.execution_of(task_id), {"result": f"s3://reports/{key}"})
    with pytest.raises(ObjectsUnavailable):
        world.deliver()
    waiting = ModernClient(world).task("get", task_id).result["status"]

    world.objects.is_available = True
    world.clock.advance(minutes=5)

    assert waiting == "working"
    assert result_of(world, task_id)["structuredContent"] == {"text": "hello"}
