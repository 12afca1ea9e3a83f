"""The schema of a tool's output: loose, because an output that does not conform fails a call that worked.

Names and sure types only; nothing is required.
"""

from stepwire.json_text import JsonObject
from stepwire_wrap.definitions.samples import Seen, type_of
from stepwire_wrap.definitions.schemas import FEWEST_RUNS
from stepwire_wrap.definitions.values import Literal, Record, Value, literal_in


def output_schema(output: Value, runs: Seen) -> JsonObject | None:
    """Return the schema of what successful runs end with; None if they do not all end with an object."""
    if runs.count and (set(runs.types) != {"object"} or _is_tool_result(runs)):
        return None
    said = _said(output)
    if not runs.count:
        return _object(said) if said else None
    names = dict.fromkeys((*said, *runs.names(said)))
    return _object({name: _seen(runs.members[name]) if name in runs.members else said[name] for name in names})


def _object(properties: dict[str, JsonObject]) -> JsonObject:
    return {"type": "object", **({"properties": dict(properties)} if properties else {})}


def _is_tool_result(runs: Seen) -> bool:
    """Tell whether outputs are results of MCP already."""
    content = runs.members.get("content")
    return content is not None and content.types["array"] > 0


def _said(output: Value) -> dict[str, JsonObject]:
    """Return the members that the definition writes in every end."""
    records = [one for one in output if isinstance(one, Record) and one.base is None]
    if len(records) < len(output):
        return {}
    return {name: _literal(value) for one in records for name, value in one.members}


def _literal(value: Value) -> JsonObject:
    if len(value) != 1 or not isinstance(next(iter(value)), Literal):
        return {}
    return {"type": type_of(literal_in(value))}


def _seen(seen: Seen) -> JsonObject:
    kinds = {"number" if kind == "integer" else kind for kind in seen.types}
    return {"type": kinds.pop()} if len(kinds) == 1 and seen.count >= FEWEST_RUNS else {}
