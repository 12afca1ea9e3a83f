"""Results that a manifest has given their form, as clients of both eras get them."""

from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.json_text import write
from tests.kits import OPTIONAL, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient

SHAPE: Final = write(
    {
        "structured": "{total: sum(invoices[].amount)}",
        "content": [
            {"type": "text", "text": "Settled {length(invoices)} invoices."},
            {"type": "resource_link", "uri": "{url}", "name": "{to_string(number)}", "each": "invoices"},
        ],
        "meta": {"example.com/run": "{run}"},
    }
)
SETTLE: Final = replace(OPTIONAL, name="settle", output_shape=SHAPE)
PROMISED: Final = replace(
    SETTLE, name="promised", output_schema=write({"type": "object", "properties": {"total": {"type": "integer"}}})
)
INVOICE: Final[Json] = {"number": 7, "amount": 5, "url": "https://invoices.example/7"}
RAW: Final[Json] = {"run": "r-1", "invoices": [INVOICE, {**INVOICE, "number": 8}], "internal": "kept back"}
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def world_with() -> World:
    return World(catalog=catalog_of(SETTLE, PROMISED))


def result_of(world: World, era: str, output: Json, tool: str = "settle") -> Json:
    """Call a tool in an era, let its workflow end with an output, and return the result."""
    if era == "legacy":
        legacy = LegacyClient.opened(world)
        task_id = legacy.call(tool, task={}).id_in("task")
        world.succeed(task_id, output)
        return legacy.task("result", task_id).result
    modern = ModernClient(world)
    task_id = modern.start(tool)
    world.succeed(task_id, output)
    return modern.task("get", task_id).result["result"]


@eras
@pytest.mark.parametrize("tool", ["settle", "promised"])
def test_the_result_has_the_form_of_the_manifest(era: str, tool: str) -> None:
    result = result_of(world_with(), era, RAW, tool)

    assert result["structuredContent"] == {"total": 10}
    assert [block.get("text", block.get("uri")) for block in result["content"]] == [
        "Settled 2 invoices.",
        "https://invoices.example/7",
        "https://invoices.example/7",
    ]
    assert result["_meta"]["example.com/run"] == "r-1"
    assert "kept back" not in str(result)
    assert not result["isError"]


@eras
def test_an_output_that_cannot_be_shaped_reaches_the_model_and_the_operator(era: str) -> None:
    world = world_with()

    result = result_of(world, era, {"invoices": "none, they are secret"})

    assert "sum() takes array-number, and was given null" in result["content"][0]["text"]
    assert "they are secret" in result["content"][1]["text"]
    (entry,) = [entry for entry in world.audit if entry.action is AuditAction.UNSHAPED]
    assert (entry.tool, entry.outcome) == (
        "settle",
        "at output.structured: {total: sum(invoices[].amount)}: sum() takes array-number, and was given null",
    )
    assert "secret" not in repr(world.audit)


@eras
def test_an_output_that_takes_too_long_to_shape_ends_its_task(era: str) -> None:
    rows = {"structured": False, "content": [{"type": "text", "text": "All of them: {rows}"}] * 20}
    world = World(catalog=catalog_of(replace(SETTLE, output_shape=write(rows))))

    result = result_of(world, era, {"rows": ["x" * 2_500] * 100})

    why = "at output.content.15.text: it takes too long for an output of this size: select less of it"
    assert result["content"][0]["text"].endswith(f"says: {why}. The output follows as text.")
    assert [entry.outcome for entry in world.audit if entry.action is AuditAction.UNSHAPED] == [why]


@eras
def test_what_was_promised_is_checked_after_it_was_shaped(era: str) -> None:
    result = result_of(world_with(), era, {"invoices": [{**INVOICE, "amount": 0.5}]}, "promised")

    assert result["isError"]
    assert "not what the tool's output schema promises" in result["content"][0]["text"]


@eras
def test_a_result_too_large_for_its_item_is_shaped_when_it_is_fetched(era: str) -> None:
    world = world_with()
    many = [{**INVOICE, "url": f"https://invoices.example/{'x' * 300}{number}"} for number in range(400)]

    result = result_of(world, era, {"run": "r", "invoices": many})

    assert len(result["content"]) == 401
    assert result["structuredContent"] == {"total": 2_000}


def test_a_task_keeps_the_form_that_its_tool_had_when_it_was_called() -> None:
    world = world_with()
    task_id = ModernClient(world).start("settle")
    later = World(catalog=catalog_of(replace(SETTLE, output_shape=None)), store=world.store, workflows=world.workflows)

    later.succeed(task_id, RAW)

    assert ModernClient(later).task("get", task_id).result["result"]["structuredContent"] == {"total": 10}


def test_the_end_that_a_check_finds_is_shaped_too() -> None:
    world = world_with()
    task = world.overdue(SETTLE)
    world.workflows.succeed(task.execution, RAW)

    result = ModernClient(world).task("get", task.task_id).result["result"]

    assert result["structuredContent"] == {"total": 10}
