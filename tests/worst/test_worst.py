"""No valid input takes more than 250 ms of CPU time or 64 MB, in any function.

Every run checks what does not depend on the machine: the number of reported faults, and that the estimate refuses
expensive work. `make test ALL=1` checks the measurements; `python -m benchmarks.worst_cases` prints them.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from stepwire.json_text import JsonObject, load_json, write
from stepwire.schemas.validation import MOST_SECONDS, SchemaError, Violation, check_schema, compile_ahead, violations_of
from stepwire.schemas.work import ENDLESS, SchemaWork, size_of, states_of
from tests.worst.inputs import inputs
from tests.worst.measuring import MOST_MEMORY, Taken, taken_by
from tests.worst.shapes import SCHEMAS, Shape, by_chance, known, texts

# `python -m benchmarks.worst_cases` tries every pair, and 500 by chance.
EVERY: Final = 10
CHANCES: Final = 50
SEED = 20_261_121


def shape(schema: str, value: str) -> Shape:
    return Shape(f"{schema} / {value}", SCHEMAS[schema], load_json(texts()[value]))


# A1: the validator builds an error for each of 130,000 items before it returns the first
@pytest.mark.parametrize(
    ("schema", "value", "pointer"),
    [
        ("few items", "ones", ""),
        ("choices of items", "ones", "/0"),
        ("negated", "ones", "/0"),
        ("a row", "rows", "/0"),
        ("an optional member", "list in a member", "/a"),
        ("names", "members", ""),
        ("closed items", "objects", "/0"),
    ],
)
def test_only_the_first_fault_of_a_large_value_is_named(schema: str, value: str, pointer: str) -> None:
    found = shape(schema, value)

    (violation,) = violations_of(write(found.schema), found.value)

    assert violation.pointer == pointer
    assert "too large" not in violation.expected


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("many choices of one", "texts"),
        ("mixed options", "ones"),
        ("all of many", "ones"),
        ("dependent", "members"),
        ("names by pattern", "members"),
        ("pattern [ab]*a[ab]{300}c", "long ab"),
    ],
)
def test_a_check_that_might_take_long_is_refused(schema: str, value: str) -> None:
    found = shape(schema, value)
    estimate = SchemaWork(found.schema).deciding().seconds(size_of(found.value))

    (violation,) = violations_of(write(found.schema), found.value)

    assert estimate > MOST_SECONDS
    assert violation.expected.startswith("is too large to be checked against the schema in time")


# The validator caches intermediate results when it decides, but not when it collects errors.
def test_a_fault_is_not_explained_if_that_would_double_at_each_level() -> None:
    found = shape("a tree of two with leaves", "deep")

    (violation,) = violations_of(write(found.schema), found.value)

    assert violation == Violation("", "does not conform to the schema")


def test_a_small_value_has_all_its_faults_listed() -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["b", "c"]}

    pointers = [one.pointer for one in violations_of(write(schema), {"a": 1})]

    assert sorted(pointers) == ["", "", "/a"]


# M35: linear time, so no look-around and no backreferences
@pytest.mark.parametrize("pattern", ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "(\\w{1,999}){99}"])
@pytest.mark.parametrize("place", ["pattern", "patternProperties"])
def test_a_pattern_that_may_take_long_is_refused(pattern: str, place: str) -> None:
    schema: JsonObject = {place: pattern if place == "pattern" else {pattern: {}}}

    with pytest.raises(SchemaError, match="linear time"):
        check_schema(schema)


def doubling(levels: int) -> JsonObject:
    """Return a schema in which each level refers twice to the next."""
    links = {str(level): {"allOf": [{"$ref": f"#/$defs/{level + 1}"}] * 2} for level in range(levels)}
    return {"$ref": "#/$defs/0", "$defs": {**links, str(levels): {"type": "integer"}}}


@pytest.mark.parametrize(
    "schema",
    [
        doubling(20),
        doubling(300),
        {"items": {"anyOf": [{"contains": {"const": number}} for number in range(700)] * 3}},
        {"allOf": [{"pattern": f"a{{99}}{number}"} for number in range(900)]},
    ],
    ids=["doubling 20 times", "doubling 300 times", "thousands of choices", "hundreds of patterns"],
)
def test_a_schema_that_takes_long_for_a_small_value_is_refused(schema: JsonObject) -> None:
    with pytest.raises(SchemaError, match="takes too long"):
        check_schema(schema)


@pytest.mark.parametrize("name", ["a tree", "a tree of choices", "many choices of one", "many options", "a row"])
def test_a_common_schema_is_accepted(name: str) -> None:
    check_schema(SCHEMAS[name])


def test_an_estimate_is_bounded() -> None:
    node: JsonObject = {"$ref": "#/$defs/node"}
    schema: JsonObject = {**node, "$defs": {"node": {"allOf": [{"items": node}, {"items": node}, node]}}}

    assert SchemaWork(schema).explaining(200).part == ENDLESS.part
    assert SchemaWork(schema).deciding().part < ENDLESS.part


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("", 0),
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,7}b", 8),
        ("a{3,}", 3),
        ("a{0}b", 2),
        ("(?:ab{2}){3}", 12),
        ("[a-z\\]]+\\d", 2),
        ("\\p{L}{4}", 4),
        (")(", 1),
    ],
)
def test_the_states_of_a_pattern_are_estimated_from_above(pattern: str, states: int) -> None:
    assert states_of(pattern) == states


# L6: estimated by characters, they took 2.0 and 1.6 s
@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(.?){700}.{700}z", "\U0001d11e" * 12_000), ("(\\p{L}?){60}\\p{L}{60}z", "\u4f60" * 87_000)],
    ids=["four bytes a character", "three bytes a character"],
)
def test_a_long_text_is_measured_in_bytes(pattern: str, text: str) -> None:
    (violation,) = violations_of(write({"pattern": pattern}), text)

    assert violation.expected.startswith("is too large to be checked against the schema in time")


# ------------------------------------------------------------------------------------------------ what is measured


PARTS: Final = 2
SLOWEST_MACHINE: Final = 5
"""How many times slower a machine may be than the one on which the bound was set."""

counted_by_the_kernel = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is counted by Linux"
)


def over(measured: Iterator[tuple[str, Taken]]) -> list[str]:
    """Return what is far above the bounds.

    A slow or busy machine may take a few times the bound; the benchmark shows the exact figures. The defects that this
    finds take seconds.
    """
    return [
        f"{name}: {taken.seconds:.3f} s, {taken.megabytes:.0f} MB"
        for name, taken in measured
        if not Taken(taken.seconds / SLOWEST_MACHINE, taken.megabytes).is_within_bounds
    ]


@counted_by_the_kernel
@pytest.mark.parametrize("name", ["ones", "objects", "members", "rows"])
def test_no_answer_about_a_large_value_takes_much_memory(name: str) -> None:
    found = shape("a row", name)
    schema = write(found.schema)
    compile_ahead(schema)

    assert taken_by(lambda: violations_of(schema, found.value)).megabytes < MOST_MEMORY


@counted_by_the_kernel
@pytest.mark.long
def test_no_shape_takes_much_time_or_memory() -> None:
    def measured() -> Iterator[tuple[str, Taken]]:
        for one in (*known(EVERY), *by_chance(CHANCES, SEED)):
            schema = write(one.schema)
            compile_ahead(schema)
            yield one.name, taken_by(lambda schema=schema, one=one: violations_of(schema, one.value))

    assert over(measured()) == []


# In parts, because a test may take a quarter of an hour on a busy machine: each of some 600 inputs needs a fork of this
# process.
@counted_by_the_kernel
@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_input_of_a_function_takes_much_time_or_memory(part: int) -> None:
    some = islice(inputs(EVERY), part, None, PARTS)

    assert over((f"{one.function}, {one.name}", taken_by(one.act)) for one in some) == []


def test_every_value_has_the_maximum_size() -> None:
    assert {name for name, text in texts().items() if not 200_000 < len(text.encode()) <= 262_144} == {"deep"}
