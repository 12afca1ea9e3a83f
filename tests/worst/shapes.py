"""Schemas that a manifest may have, and values for them: known expensive combinations, and random ones.

Each value has the maximum size of a call's arguments or a workflow's output.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from random import Random
from typing import Final, TypeVar

from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire.schemas.validation import SchemaError, check_schema

Pair = TypeVar("Pair")
LARGEST: Final = 262_144 - 64  # bytes; with the name of an argument, the maximum size of a call's arguments
FORMATS: Final = (
    *("date", "date-time", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6", "uri"),
    *(
        "uri-reference",
        "iri",
        "iri-reference",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
        "uuid",
    ),
)
PATTERNS: Final = (
    *("^(a+)+$", "(.*)*x", "a*a*a*a*b$", "[ab]*a[ab]{12}c", "[ab]*a[ab]{80}c", "[ab]*a[ab]{300}c", "^[a-z]{1,1000}$"),
    *("\\w{1,50}z", "(?:a|b|ab)*c", "^(?:(?:a?b?){9}){9}c$", "(x+x+)+y", "^\\s+|\\s+$", "(?:\\p{L}\\d?){20}!"),
)


@dataclass(frozen=True)
class Shape:
    """A schema and a value for it."""

    name: str
    schema: JsonObject
    value: Json


def filled(part: Callable[[int], str], opening: str = "[", closing: str = "]", room: int = LARGEST) -> str:
    """Return as many repetitions of a part as fit, between an opening and a closing text."""
    parts: list[str] = []
    room -= len(opening) + len(closing)
    for number in range(LARGEST):
        text = part(number)
        room -= len(text.encode()) + 1
        if room < 0:
            break
        parts.append(text)
    return f"{opening}{','.join(parts)}{closing}"


@cache
def texts() -> dict[str, str]:
    """Return JSON texts of values. Not made at import, because every worker of the tests imports this."""
    return {
        "ones": filled(lambda _: "1"),
        "numbers": filled(str),
        "decimals": filled(lambda number: f"{number}.5"),
        "texts": filled(lambda number: f'"{number}"'),
        "same texts": filled(lambda _: '"a"'),
        "empty objects": filled(lambda _: "{}"),
        "empty arrays": filled(lambda _: "[]"),
        "objects": filled(lambda number: f'{{"a":{number}}}'),
        "rows": filled(lambda number: f'{{"a":{number},"b":"x","c":[{number}],"d":null}}'),
        "members": filled(lambda number: f'"k{number}":1', "{", "}"),
        "list in a member": filled(lambda _: "1", '{"a":[', "]}"),
        "texts in a member": filled(lambda number: f'"{number}"', '{"a":[', "]}"),
        "long a": write("a" * (LARGEST - 2)),
        "long ab": write("".join(Random(1).choices("ab", k=LARGEST - 2))),
        "long ü": write("ü." * (LARGEST // 3 - 2)),
        "long path": write("http://" + "%41" * (LARGEST // 3 - 4)),
        "long labels": write("a@" + "b." * (LARGEST // 2 - 4)),
        "labels": filled(lambda number: write("ü" * 20 + f".{number}")),
        "deep": '{"a":' * 190 + "1" + "}" * 190,
        "deep and wide": filled(lambda _: "1", "[" * 100, "]" + ",0]" * 99),
        "deep blocks": filled(lambda _: "{}", '{"content":' * 150 + "[", "]" + "}" * 150),
    }


_NODE: Final[JsonObject] = {"$ref": "#/$defs/node"}


def _recursive(node: JsonObject) -> JsonObject:
    return {**_NODE, "$defs": {"node": node}}


SCHEMAS: Final[dict[str, JsonObject]] = {
    "few items": {"type": "array", "maxItems": 20, "items": {"type": "string"}},
    "choices of items": {"items": {"anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "object"}]}},
    "one of items": {"items": {"oneOf": [{"type": "string"}, {"minimum": 10}, {"maxLength": 3}]}},
    "many choices": {"items": {"anyOf": [{"const": number} for number in range(1_500)]}},
    "many choices of one": {"items": {"oneOf": [{"const": f"v{number}", "title": "x"} for number in range(500)]}},
    "many options": {"items": {"enum": [f"v{number}" for number in range(3_000)]}},
    "mixed options": {"items": {"enum": [*range(1_500), "a", {}]}},
    "options that are objects": {"items": {"enum": [{"a": number} for number in range(1_000)]}},
    "unique": {"uniqueItems": True},
    "unique at each level": _recursive({"uniqueItems": True, "items": _NODE}),
    "contains": {"contains": {"const": "x"}, "minContains": 2},
    "all of many": {"allOf": [{"items": {"type": "integer"}}] * 300},
    "negated": {"items": {"not": {"type": "integer"}}},
    "conditions": {"items": {"if": {"type": "integer"}, "then": {"type": "string"}, "else": {"minLength": 9}}},
    "names": {"propertyNames": {"pattern": "^a", "maxLength": 3}},
    "names by pattern": {"patternProperties": {f"^k{number}": {"type": "string"} for number in range(300)}},
    "closed": {"properties": {"k1": True}, "additionalProperties": False},
    "required": {"required": [f"r{number}" for number in range(2_000)]},
    "closed items": {"items": {"required": ["a", "b"], "additionalProperties": False, "properties": {"a": True}}},
    "dependent": {"dependentSchemas": {f"k{number}": {"required": ["z"]} for number in range(300)}},
    "dependent names": {"items": {"dependentRequired": {f"k{number}": ["z"] for number in range(300)}}},
    "unevaluated": {"allOf": [{"properties": {"a": True}}] * 50, "unevaluatedProperties": False},
    "unevaluated items": {"items": {"anyOf": [{"required": ["a"]}] * 50, "unevaluatedProperties": False}},
    "nothing": {"not": {}},
    "a tree": _recursive({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": _NODE}]}),
    "a tree of two": _recursive({"allOf": [{"properties": {"a": _NODE}}, {"properties": {"a": _NODE}}]}),
    "a tree of two with leaves": _recursive(
        {"type": ["object", "string"], "allOf": [{"properties": {"a": _NODE}}, {"properties": {"a": _NODE}}]}
    ),
    "a tree of choices": _recursive(
        {"anyOf": [{"properties": {"a": _NODE}, "required": ["a"]}] * 4 + [{"items": _NODE, "type": "array"}]}
    ),
    "a tree that is dynamic": {
        "$dynamicRef": "#node",
        "$defs": {"node": {"$dynamicAnchor": "node", "allOf": [{"items": {"$dynamicRef": "#node"}}] * 2}},
    },
    "a row": {
        "items": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"enum": ["y"]}, "c": {"items": {"minimum": 5}}},
            "required": ["a", "z"],
        }
    },
    "an optional member": {"properties": {"a": {"anyOf": [{"items": {"type": "string"}}, {"type": "null"}]}}},
    **{f"format {name}": {"anyOf": [{"format": name}, {"items": {"format": name}}]} for name in FORMATS},
    **{f"pattern {name}": {"pattern": name, "items": {"pattern": name}} for name in PATTERNS},
}


def one_of(every: int, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Return every so many of the pairs: with a number that the second ones are no multiple of, all occur in some."""
    return islice(pairs, 0, None, every)


def known(every: int = 1) -> Iterator[Shape]:
    """Return schemas that a manifest may have with values: of the pairs, one of so many."""
    values = {name: load_json(text) for name, text in texts().items()}
    served = [(name, schema) for name, schema in SCHEMAS.items() if is_served(schema)]
    for (name, schema), (other, value) in one_of(every, product(served, values.items())):
        yield Shape(f"{name} / {other}", schema, value)


def by_chance(count: int, seed: int) -> Iterator[Shape]:
    """Return random combinations of schemas, each with a value."""
    chance = Random(seed)
    values = {name: load_json(text) for name, text in texts().items()}
    parts = [schema for schema in SCHEMAS.values() if "$defs" not in schema]
    given = 0
    while given < count:
        schema = _joined(chance, parts, depth=3)
        if is_served(schema):
            given += 1
            name = chance.choice(list(values))
            yield Shape(f"{write(schema)[:300]} / {name}", schema, values[name])


def is_served(schema: JsonObject) -> bool:
    """Tell whether a manifest may have the schema."""
    try:
        check_schema(schema)
    except SchemaError:
        return False
    return True


def _joined(chance: Random, parts: list[JsonObject], depth: int) -> JsonObject:
    if not depth or chance.random() < 0.3:
        return chance.choice(parts)
    inner = [_joined(chance, parts, depth - 1) for _ in range(chance.randint(1, 3))]
    keyword = chance.choice(("allOf", "anyOf", "oneOf", "items", "properties", "additionalProperties", "not", "if"))
    match keyword:
        case "allOf" | "anyOf" | "oneOf":
            return {keyword: inner}
        case "properties":
            return {keyword: dict(zip("abc", inner, strict=False))}
        case "if":
            return {"if": inner[0], "then": inner[-1]}
        case _:
            return {keyword: inner[0]}
