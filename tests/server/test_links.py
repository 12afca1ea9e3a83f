"""Results in S3, and the trace that a call belongs to."""

import json
from dataclasses import replace

import pytest

from tests.kits import OPTIONAL, World, catalog_of
from tests.server.clients import LegacyClient, ModernClient

LINKING = replace(OPTIONAL, name="linking", result_bucket="reports")


def linking_to(uri: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": uri}, {"type": "resource_link", "uri": uri, "name": "report.csv"}]}


@pytest.fixture
def world() -> World:
    """A world whose tool leaves its results in S3."""
    return World(catalog=catalog_of(LINKING, OPTIONAL))


def test_a_link_into_the_tools_bucket_can_be_followed_from_either_era(world: World) -> None:
    task_id = ModernClient(world).start("linking")
    world.succeed(task_id, linking_to("s3://reports/2026/a.csv"))

    modern = ModernClient(world).task("get", task_id).result["result"]["content"]
    legacy = LegacyClient(world).task("result", task_id).result["content"]

    for text, link in (modern, legacy):
        assert link["uri"] == "https://reports.example/2026/a.csv?signature=1"
        assert text["text"] == "s3://reports/2026/a.csv"


def test_a_link_is_made_anew_each_time_and_never_kept(world: World) -> None:
    task_id = ModernClient(world).start("linking")
    world.succeed(task_id, linking_to("s3://reports/a.csv"))
    ModernClient(world).task("get", task_id)

    (task,) = world.store.tasks.values()

    assert "signature" not in repr(task)


@pytest.mark.parametrize("uri", ["s3://other/a.csv", "s3://reports-of-others/a.csv", "https://reports/a.csv"])
def test_no_other_link_is_changed(world: World, uri: str) -> None:
    task_id = ModernClient(world).start("linking")
    world.succeed(task_id, linking_to(uri))

    assert ModernClient(world).task("get", task_id).result["result"]["content"][1]["uri"] == uri


def test_the_links_of_a_tool_without_a_bucket_stay_as_they_are(world: World) -> None:
    task_id = ModernClient(world).start("optional")
    world.succeed(task_id, linking_to("s3://reports/a.csv"))

    assert ModernClient(world).task("get", task_id).result["result"]["content"][1]["uri"] == "s3://reports/a.csv"


# M29
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_the_execution_belongs_to_the_trace_of_its_call(world: World, era: type[LegacyClient | ModernClient]) -> None:
    params = {"name": "optional", "arguments": {"text": "x"}}
    traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta = {"traceparent": traceparent}

    if era is LegacyClient:
        LegacyClient(world).ask("tools/call", {**params, "task": {}, "_meta": meta})
    else:
        ModernClient(world).ask("tools/call", params, meta=meta)

    (start,) = world.workflows.starts
    assert start.trace_header == "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1"


# M29
@pytest.mark.parametrize(
    "traceparent",
    ["", "00", 7, None, f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01"],
)
def test_what_names_no_trace_is_left_out(world: World, traceparent: object) -> None:
    params = {"name": "optional", "arguments": {"text": "x"}, "task": {}, "_meta": {"traceparent": traceparent}}

    answer = LegacyClient(world).ask("tools/call", params)

    assert "task" in answer.result
    assert world.workflows.starts[0].trace_header is None
    assert json.loads(world.workflows.starts[0].input_text) == {"text": "x"}
