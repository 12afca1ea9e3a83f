"""Links to results in S3."""

from typing import cast

import pytest
from msgspec.structs import replace

from tests.kits import ALICE, BOB, OPTIONAL, World, catalog_of
from tests.server.clients import LegacyClient, ModernClient

LINKING = replace(OPTIONAL, name="linking", result_bucket="reports")
OF_ITS_CALLER = replace(LINKING, name="of_its_caller", result_prefix="results/{principal}/")


def linking_to(uri: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": uri}, {"type": "resource_link", "uri": uri, "name": "report.csv"}]}


@pytest.fixture
def world() -> World:
    """A world whose tools leave their results in S3."""
    return World(catalog=catalog_of(LINKING, OF_ITS_CALLER, OPTIONAL))


def link_of(world: World, task_id: str) -> str:
    """Return the link that a client gets."""
    return ModernClient(world).task("get", task_id).result["result"]["content"][1]["uri"]


def test_a_link_below_the_prefix_of_the_task_is_signed_for_both_eras(world: World) -> None:
    """By default that is the name of its execution, which the workflow knows."""
    task_id = ModernClient(world).start("linking")
    name = world.workflows.execution_of(task_id).name
    uri = f"s3://reports/{name}/2026/a.csv"
    world.succeed(task_id, linking_to(uri))

    modern = ModernClient(world).task("get", task_id).result["result"]["content"]
    legacy = LegacyClient(world).task("result", task_id).result["content"]

    for text, link in (modern, legacy):
        assert link["uri"] == f"https://reports.example/{name}/2026/a.csv?signature=1"
        assert text["text"] == uri


def test_a_manifest_may_choose_a_prefix_per_caller(world: World) -> None:
    task_id = ModernClient(world).start("of_its_caller")
    world.succeed(task_id, linking_to(f"s3://reports/results/{ALICE}/2026/a.csv"))

    assert link_of(world, task_id) == f"https://reports.example/results/{ALICE}/2026/a.csv?signature=1"


def test_a_link_is_signed_for_each_response_and_never_stored(world: World) -> None:
    task_id = ModernClient(world).start("linking")
    world.succeed(task_id, linking_to(f"s3://reports/{world.workflows.execution_of(task_id).name}/a.csv"))
    ModernClient(world).task("get", task_id)

    (task,) = world.store.tasks.values()

    assert "signature" not in repr(task)


# Links that a caller or a document may put into a workflow's output.
@pytest.mark.parametrize("tool", ["linking", "of_its_caller"])
@pytest.mark.parametrize(
    "uri",
    [
        "s3://reports/another-principals/secret.csv",
        "s3://reports/a.csv",
        "s3://reports/results/{bob}/a.csv",
        "s3://reports/results/{alice}",
        "s3://reports/results/{alice}/",
        "s3://reports/results/{alice}x/a.csv",
        "s3://reports/{run}/../../secret.csv",
        "s3://reports/results/{alice}/../{bob}/a.csv",
        "s3://reports/{run}/./a.csv",
        "s3://reports/results/{alice}//a.csv",
        "s3://reports//{run}/a.csv",
        "s3://reports/{run}x/a.csv",
        "s3://reports/{alice}-0000000000aaaaaaaaaaaaaaaaaaaaaaaaaa/a.csv",
        "s3://other/{run}/a.csv",
        "s3://reports-of-others/results/{alice}/a.csv",
        "https://reports/results/{alice}/a.csv",
    ],
)
def test_no_other_link_is_changed(world: World, tool: str, uri: str) -> None:
    task_id = ModernClient(world).start(tool)
    run = world.workflows.execution_of(task_id).name
    named = uri.format(alice=ALICE, bob=BOB, run=run)
    # Beside an allowed link, so that the server inspects all of them.
    mine = {
        "type": "resource_link",
        "uri": f"s3://reports/{run}/results/{ALICE}/a",
        "name": "mine",
    }
    world.succeed(task_id, {"content": [mine, *cast(list[object], linking_to(named)["content"])]})

    shown = ModernClient(world).task("get", task_id).result["result"]["content"]

    assert shown[2]["uri"] == named


def test_the_links_of_a_tool_without_a_bucket_are_not_changed(world: World) -> None:
    task_id = ModernClient(world).start("optional")
    uri = f"s3://reports/{world.workflows.execution_of(task_id).name}/a.csv"
    world.succeed(task_id, linking_to(uri))

    assert link_of(world, task_id) == uri
