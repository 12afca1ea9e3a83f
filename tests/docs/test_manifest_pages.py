"""The reference of manifests, and the schema for editors, are what the models say (`manifest_pages`)."""

import json
import re
from typing import Any, Final

import jsonschema_rs
import pytest
import yaml

from stepwire.json_text import JsonObject
from stepwire.manifests.model import fields, shapes
from tests.docs.manifest_pages import DURATION, MODEL, PAGE, SCHEMA, effects, page, schema
from tests.docs.pages import ROOT
from tests.docs.pages import page as document

_WRONG: Final = ROOT / "packages/command/tests/example"  # shows what `stepwire doctor` finds
_PLACES: Final = ("functions/*/tools/*.yaml", "tests/**/tools/*.yaml", "tools/**/tools/*.yaml")
_FOUND: Final = [path for place in _PLACES for path in ROOT.glob(place)]
MANIFESTS: Final = sorted(path for path in _FOUND if _WRONG not in path.parents)
SMALLEST: Final[JsonObject] = {
    "name": "a",
    "description": "A.",
    "state_machine": "A",
    "input_schema": {"type": "object"},
}
VALIDATOR: Final = jsonschema_rs.Draft202012Validator(schema(), validate_formats=True, offline=True)


def test_the_page_and_the_schema_are_as_the_models_make_them() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == schema()


def test_every_field_has_words() -> None:
    assert effects().keys() == fields(MODEL).keys()
    assert all(effects().values())


def test_a_pattern_has_words_that_say_what_it_takes() -> None:
    patterns = set(map(json.loads, re.findall(r'"pattern": ("[^"]*")', json.dumps(schema()))))

    assert patterns - {DURATION} == shapes(MODEL).keys()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_editors_accept_the_manifests_of_this_repository(path: Any) -> None:
    assert [str(error) for error in VALIDATOR.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))] == []


def test_editors_accept_the_manifests_of_the_documents() -> None:
    blocks = [
        block for name in ("docs/tools.md", "docs/who_calls.md") for block in document(ROOT / name).blocks("yaml")
    ]

    shown = [one for one in map(yaml.safe_load, blocks) if "input_schema" in one]

    assert len(shown) == 2
    assert all(map(VALIDATOR.is_valid, shown))


@pytest.mark.parametrize(
    ("more", "is_good"),
    [
        ({}, True),
        ({"context": "caller"}, True),
        ({"context": {"input_key": "caller", "claims": ["sub"]}}, True),
        ({"idempotency": ["a"]}, True),
        ({"idempotency": {"arguments": ["a"], "window": "PT1H"}}, True),
        ({"output": {"structured": False, "text": "x"}}, True),
        ({"confirm": {"message": "Sure?", "schema": {"type": "object"}}}, True),
        ({"poll_intervall": "PT1S"}, False),
        ({"context": {"claims": ["sub"]}}, False),
        ({"context": {"input_key": "a", "claim": []}}, False),
        ({"output": {"structured": True}}, False),
        ({"output": {"txt": "x"}}, False),
        ({"task_support": "maybe"}, False),
        ({"ttl": "a week"}, False),
        ({"input_schema": {"type": "int"}}, False),
        ({"confirm": {"message": "Sure?", "schema": {"type": 5}}}, False),
        ({"name": "has space"}, False),
        ({"show_state": "yes"}, False),
    ],
)
def test_editors_see_what_the_compiler_would_refuse(more: JsonObject, is_good: bool) -> None:
    assert VALIDATOR.is_valid({**SMALLEST, **more}) is is_good


@pytest.mark.parametrize("name", SMALLEST)
def test_editors_miss_what_every_manifest_has(name: str) -> None:
    assert not VALIDATOR.is_valid({key: value for key, value in SMALLEST.items() if key != name})
