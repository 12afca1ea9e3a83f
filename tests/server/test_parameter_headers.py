"""Parameters that a tool wants repeated in headers: declared in its schema, and compared with the body."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from msgspec.structs import replace

from stepwire.catalog.tools import compiled_in
from stepwire.errors import CatalogError
from stepwire.json_text import write
from stepwire.manifests.reading import compile_directory
from stepwire.protocol.http import check_annotations, parameter_headers
from tests.kits import OPTIONAL, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import FORM_CAPABILITY, LegacyClient, ModernClient, header_value, nothing_happened

SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "where": {"type": "object", "properties": {"tenant": {"type": "string", "x-mcp-header": "Tenant"}}},
        "text": {"type": "string"},
    },
}
ROUTED: Final = replace(OPTIONAL, input_schema=write(SCHEMA))


@pytest.fixture
def world() -> World:
    """A world whose only tool has parameters in headers."""
    return World(catalog=catalog_of(ROUTED))


def call(world: World, arguments: Json, headers: dict[str, str]) -> Any:
    """Call the tool."""
    return ModernClient(world).ask("tools/call", {"name": "optional", "arguments": arguments}, headers=headers)


# M39
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"region": None}, {}),
        ({"region": "eu-central-1"}, {"mcp-param-region": "eu-central-1"}),
        ({"region": "eu-central-1"}, {"mcp-param-region": "\teu-central-1 "}),
        ({"region": "grün"}, {"mcp-param-region": header_value("grün")}),
        ({"region": " padded "}, {"mcp-param-region": header_value(" padded ")}),
        ({"region": "Hello"}, {"mcp-param-region": "=?base64?SGVsbG8=?="}),
        ({"region": "SGVsbG8="}, {"mcp-param-region": "SGVsbG8="}),
        ({"region": "=?base64?SGVsbG8="}, {"mcp-param-region": "=?base64?SGVsbG8="}),
        ({"count": 42}, {"mcp-param-count": "42"}),
        ({"count": 42}, {"mcp-param-count": "42.0"}),
        ({"count": -7}, {"mcp-param-count": "-7"}),
        ({"count": 42.0}, {"mcp-param-count": "42"}),
        ({"dry": True}, {"mcp-param-dry-run": "true"}),
        ({"dry": False}, {"mcp-param-dry-run": "false"}),
        ({"where": {"tenant": "a"}}, {"mcp-param-tenant": "a"}),
        ({"where": {}}, {}),
        ({"text": "a"}, {"mcp-param-text": "no parameter of this tool has such a header"}),
    ],
)
def test_a_call_whose_headers_repeat_its_parameters_is_served(
    world: World, arguments: Json, headers: dict[str, str]
) -> None:
    assert call(world, arguments, headers).status == 200


# M39: clients do not repeat lists in headers; the schema refuses them
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [({"region": ["a"]}, {}), ({"region": {"a": "b"}}, {}), ({"count": 4.5}, {"mcp-param-count": "4.5"})],
)
def test_a_value_that_cannot_be_repeated_in_a_header_is_refused_by_the_schema(
    world: World, arguments: Json, headers: dict[str, str]
) -> None:
    result = call(world, arguments, headers).result

    assert result["isError"] is True
    assert f"at /{next(iter(arguments))}: " in result["content"][0]["text"]
    assert nothing_happened(world)


# M14, M39
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu-central-1"}, {}),
        ({"region": "eu-central-1"}, {"mcp-param-region": "us-east-1"}),
        ({"region": "eu-central-1"}, {"mcp-param-region": "EU-CENTRAL-1"}),
        ({"region": "eu-central-1"}, {"mcp-param-region": "eu-central-1, eu-central-1"}),
        ({}, {"mcp-param-region": "eu-central-1"}),
        ({"region": None}, {"mcp-param-region": "null"}),
        ({"region": "grün"}, {"mcp-param-region": "grün"}),
        ({"region": "Hello"}, {"mcp-param-region": "=?base64?SGVsbG8?="}),
        ({"region": "Hello"}, {"mcp-param-region": "=?base64?SGVs!!!bG8=?="}),
        ({"region": "=?base64?SGVs!!!bG8=?="}, {"mcp-param-region": "=?base64?SGVs!!!bG8=?="}),
        ({"region": "Hello"}, {"mcp-param-region": "=?base64?/////w==?="}),
        ({"count": 42}, {}),
        ({"count": 42}, {"mcp-param-count": "43"}),
        ({"count": 42}, {"mcp-param-count": "42.5"}),
        ({"count": 42}, {"mcp-param-count": "0x2a"}),
        ({"count": 42}, {"mcp-param-count": "4_2"}),
        ({"count": 42}, {"mcp-param-count": "9" * 10_000}),
        ({"dry": True}, {"mcp-param-dry-run": "True"}),
        ({"dry": True}, {"mcp-param-dry-run": "1"}),
        ({"dry": False}, {"mcp-param-dry-run": "true"}),
        ({"where": {"tenant": "a"}}, {"mcp-param-tenant": "b"}),
        ({"where": "a"}, {"mcp-param-tenant": "a"}),
    ],
)
def test_a_call_whose_headers_differ_from_its_body_is_refused(
    world: World, arguments: Json, headers: dict[str, str]
) -> None:
    answer = call(world, arguments, headers)

    assert (answer.status, answer.code) == (400, -32020)
    assert "Mcp-Param-" in answer.error["message"]
    assert nothing_happened(world)


@pytest.mark.parametrize(
    ("arguments", "headers", "words"),
    [
        ({"count": 42}, {}, "The header Mcp-Param-Count is missing; it must repeat params.arguments.count, as"),
        ({"where": {}}, {"mcp-param-tenant": "a"}, "Mcp-Param-Tenant is present, but params.arguments.where.tenant is"),
        ({"region": "a"}, {"mcp-param-region": "b"}, "Mcp-Param-Region differs from params.arguments.region."),
        # what only the schema can refuse does not hide another difference
        ({"region": ["a"], "count": 1}, {"mcp-param-count": "2"}, "Mcp-Param-Count differs from"),
    ],
)
def test_a_refusal_names_the_header_and_the_parameter(
    world: World, arguments: Json, headers: dict[str, str], words: str
) -> None:
    assert words in call(world, arguments, headers).error["message"]


# M39
@given(value=st.text() | st.integers(-(2**53) + 1, 2**53 - 1) | st.booleans(), other=st.text())
def test_an_encoded_header_is_decoded_before_it_is_compared(value: str | int | bool, other: str) -> None:
    name = {str: "region", int: "count", bool: "dry"}[type(value)]
    header = {"region": "mcp-param-region", "count": "mcp-param-count", "dry": "mcp-param-dry-run"}[name]
    plain = value if isinstance(value, str) else write(value)
    try:
        sent, wrong = header_value(plain), header_value(other)
    except UnicodeEncodeError:
        return
    world = World(catalog=catalog_of(ROUTED))

    assert call(world, {name: value}, {header: sent}).status == 200
    assert (call(world, {name: value}, {header: wrong}).status == 200) == (other == plain)


# M39
def test_every_round_of_a_call_repeats_its_parameters(world: World) -> None:
    client = ModernClient(world, capabilities=FORM_CAPABILITY)
    whole: Json = {"name": "optional", "arguments": {"region": "a"}}
    state = client.ask("tools/call", whole, headers={"mcp-param-region": "a"}).result["requestState"]

    again = client.ask("tools/call", {**whole, "requestState": state}, headers={"mcp-param-region": "b"})

    assert (again.status, again.code) == (400, -32020)


# M39: the legacy era has no such headers
def test_a_legacy_call_needs_no_such_header(world: World) -> None:
    assert LegacyClient(world).call("optional", {"region": "a"}).status == 200


# M39
@pytest.mark.parametrize("header", ["Region", "x", "X-Y_z.1", "!#$%&'*+-.^_`|~"])
@pytest.mark.parametrize("kind", ["string", "integer", "boolean"])
def test_the_tool_list_shows_which_parameters_to_repeat_in_headers(tmp_path: Path, header: str, kind: str) -> None:
    schema: Json = {"type": "object", "properties": {"a": {"type": kind, "x-mcp-header": header}}}

    assert f'"x-mcp-header":{write(header)}' in compiled(tmp_path, schema)


# M39
@pytest.mark.parametrize(
    ("properties", "more", "fault"),
    [
        ({"a": {"type": "string", "x-mcp-header": ""}}, {}, "at /properties/a/x-mcp-header: must be the name"),
        ({"a": {"type": "string", "x-mcp-header": "a b"}}, {}, "at /properties/a/x-mcp-header: must be the name"),
        ({"a": {"type": "string", "x-mcp-header": "a\r\nb"}}, {}, "at /properties/a/x-mcp-header: must be the name"),
        ({"a": {"type": "string", "x-mcp-header": "ä"}}, {}, "at /properties/a/x-mcp-header: must be the name"),
        ({"a": {"type": "string", "x-mcp-header": None}}, {}, "at /properties/a/x-mcp-header: must be the name"),
        ({"a": {"type": "number", "x-mcp-header": "A"}}, {}, "at /properties/a: x-mcp-header needs a type of"),
        ({"a": {"type": ["string", "null"], "x-mcp-header": "A"}}, {}, "at /properties/a: x-mcp-header needs a type"),
        ({"a": {"x-mcp-header": "A"}}, {}, "at /properties/a: x-mcp-header needs a type of"),
        (
            {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}},
            {},
            "at /properties/b/x-mcp-header: 'a' is also the header of /properties/a",
        ),
        ({}, {"x-mcp-header": "A"}, "at the top level: x-mcp-header is where no client looks"),
        (
            {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}},
            {},
            "at /properties/a: x-mcp-header is where no client looks",
        ),
        (
            {"a": {"type": "object", "anyOf": [{"properties": {"b": {"type": "string", "x-mcp-header": "A"}}}]}},
            {},
            "at /properties/a: x-mcp-header is where no client looks",
        ),
        (
            {"a": {"$ref": "#/$defs/region"}},
            {"$defs": {"region": {"type": "string", "x-mcp-header": "A"}}},
            "at the top level: x-mcp-header is where no client looks",
        ),
    ],
)
def test_an_annotation_that_clients_would_reject_stops_the_build(
    tmp_path: Path, properties: Json, more: Json, fault: str
) -> None:
    with pytest.raises(CatalogError) as raised:
        compiled(tmp_path, {"type": "object", "properties": properties, **more})

    assert f"a_tool.yaml: input_schema: {fault}" in str(raised.value)


# M39: a property may be named `x-mcp-header`, and a description may mention it
def test_a_property_or_description_that_looks_like_an_annotation_is_ignored(tmp_path: Path) -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "x-mcp-header": {"type": "string"},
            "properties": {"type": "string", "description": 'Not "x-mcp-header": a text.'},
        },
        "$defs": {"x-mcp-header": {"type": "string"}},
    }

    assert write(schema) in compiled(tmp_path, schema)


def schemas() -> st.SearchStrategy[Json]:
    """Draw schemas with annotations in valid and invalid places."""
    annotation = st.fixed_dictionaries(
        {}, optional={"x-mcp-header": st.sampled_from(["A", "a", "b", "", "a b", "A\n", None, 1])}
    )
    kind = st.fixed_dictionaries({}, optional={"type": st.sampled_from(["string", "integer", "number", "object"])})
    leaf = st.builds(lambda *parts: {**parts[0], **parts[1]}, annotation, kind)

    def nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        properties = st.dictionaries(st.sampled_from(["a", "b", "properties", "x-mcp-header"]), inner, max_size=3)
        more = {"items": inner, "not": inner, "anyOf": st.lists(inner, min_size=1, max_size=2), "$defs": properties}
        keywords = st.fixed_dictionaries({}, optional={"properties": properties, **more})
        return st.builds(lambda *parts: {**parts[0], **parts[1], **parts[2]}, annotation, kind, keywords)

    return st.recursive(leaf, nested, max_leaves=8)


# M39
@given(schema=schemas())
def test_the_accepted_annotations_are_those_that_a_released_client_accepts(schema: Json) -> None:
    ours = None
    try:
        check_annotations(schema)
    except ValueError as error:
        ours = str(error)
    theirs = find_invalid_x_mcp_header(schema)

    assert (ours is None) == (theirs is None), (ours, theirs)
    if theirs is None:
        expected = {path: f"Mcp-Param-{name}" for path, name in x_mcp_header_map(schema).items()}
        assert {one.path: one.name for one in parameter_headers(schema)} == expected


def compiled(folder: Path, input_schema: Json) -> str:
    """Compile a manifest with this input schema, and return the schema that a client is shown."""
    document = {"name": "a_tool", "description": "Does.", "state_machine": "Some", "input_schema": input_schema}
    (folder / "a_tool.yaml").write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), encoding="utf-8")
    (one,) = compiled_in(compile_directory(folder))
    return one.tool.input_schema
