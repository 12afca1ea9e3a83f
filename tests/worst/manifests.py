"""The hardest manifests: what they may ask for on the way in and on the way out, for any arguments and outputs."""

import json
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from stepwire.catalog.tools import Additions, Context, Tool
from stepwire.schemas.validation import check_schema
from stepwire.tasks.expressions import LONGEST_EXPRESSION
from tests.kits import TOOLS

_MANY: Final = {f"p{number}": {"default": number} for number in range(800)}
_NODE: Final = {"$ref": "#/$defs/node"}
_TREE: Final = {"node": {"properties": {"a": _NODE, "b": {"default": 1}}, "items": _NODE}}
_DEFAULTS: Final[dict[str, Any]] = {
    "many defaults of items": {"properties": {"a": {"items": {"properties": _MANY}}}},
    "a large default of items": {"properties": {"a": {"items": {"properties": {"b": {"default": "x" * 20_000}}}}}},
    "a tree of defaults": {"properties": {"a": _NODE}, "$defs": _TREE},
    "many schemas of one place": {
        "allOf": [{"properties": {"a": {"items": {"properties": {"b": {"default": number}}}}}} for number in range(300)]
    },
    "defaults of members": {"properties": {"a": {"properties": _MANY}}},
}
EXPRESSIONS: Final = {
    "doubled lists": "|".join(["[@,@]"] * 25),
    "flattened lists": "|".join(["[@,@][]"] * 12),
    "doubled texts": "|".join(["join('', [to_string(@), to_string(@)])"] * 20),
    "a new object for each item": "[*].{a: a, b: b, c: @}",
    "a call for each item": "[*].to_string(@)",
    "nested projections": "[*].[*].[*].a",
    "values of values": "*.*.*",
    "sorted": "sort(@)",
    "sorted by each": "sort_by(@, &to_string(@))",
    "reversed over and over": "|".join(["[::-1]"] * 20),
    "compared with itself": "[@ == @, @ == @, @ == @, @ == @]",
    "filtered by itself": "[?@ == @ && contains(@, 'a')]",
    "summed over and over": "[" + ", ".join(["sum(@)"] * 60) + "]",
    "keys over and over": "[" + ", ".join(["keys(@)"] * 60) + "]",
    "written over and over": "[" + ", ".join(["to_string(@)"] * 40) + "]",
    "a long glue": "join('" + "x" * (LONGEST_EXPRESSION - 20) + "', @)",
    "everything": "@",
    "reversed": "reverse(@)",
    "projected": "[*].a",
    "found in itself": "contains(to_string(@), to_string(@))",
}

BOTH_SHAPED_AND_CHECKED: Final = frozenset({"structured, everything", "structured, reversed", "structured, projected"})


def tools_with_defaults() -> Iterator[Tool]:
    """Yield tools whose schemas fill as much as they may into arguments."""
    added = Additions({"constant": "x" * 8_000}, {"late": "y" * 8_000}, Context("caller", ("email",)))
    for name, schema in _DEFAULTS.items():
        whole = {"type": "object", **schema}
        check_schema(whole)
        text = json.dumps(whole, separators=(",", ":"))
        yield replace(TOOLS[0], name=name.replace(" ", "_"), input_schema=text, additions=added)


def shapes() -> Iterator[tuple[str, str]]:
    """Yield shapes of outputs, each with its name."""
    for name, expression in EXPRESSIONS.items():
        yield f"structured, {name}", json.dumps({"structured": expression})
        yield f"text, {name}", json.dumps({"content": [{"type": "text", "text": f"a {{{expression}}}"}]})
    each = {"type": "text", "text": "{to_string(@)}", "each": "@"}
    yield "a block for each item", json.dumps({"structured": False, "content": [each]})
    whole = {"type": "text", "text": "a {@}"}
    yield "the output in each of many blocks", json.dumps({"content": [whole] * 20, "meta": {"a": "{@}", "b": "{@}"}})
