"""Manifests teach: whatever is wrong with a field is said in words of ours, with the field, and with what is right."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject, write
from stepwire.manifests.manifest import LARGEST_SCHEMA
from stepwire.manifests.model import fields, manifest_model
from stepwire.manifests.reading import compile_directory, read_manifest
from stepwire.tasks.question_schemas import LONGEST_QUESTION

GOOD: Final[JsonObject] = {
    "name": "settle",
    "description": "Settles.",
    "state_machine": "Settle",
    "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
}
PROPERTIES: Final = (
    "{text: {type: string}, count: {type: integer}, customer: {type: string}, month: {type: integer}, "
    "note: {type: string}, any: {}, all: true, items: {type: array}, part: {enum: [{}]}}"
)
BASE: Final = f"""\
name: settle
description: Settles.
input_schema: {{type: object, properties: {PROPERTIES}, required: [customer, any, all, items, part, odd]}}
state_machine: Settle
"""
NESTED: Final[dict[str, JsonObject]] = {
    "confirm": {"message": "Sure?"},
    "context": {"input_key": "caller"},
    "idempotency": {"arguments": ["a"]},
    "race": {"arms": [{"name": "a"}, {"name": "b"}]},
    "retry": {"attempts": 2},
}
"""The least that a field with fields of its own has."""
WRONG: Final[list[Any]] = [
    "",
    "x" * 40_000,
    "a b",
    5,
    0.5,
    True,
    None,
    [],
    [[]],
    [5],
    ["x" * 300] * 30,
    {"x": 1},
    {"": {"": ""}},
    -1,
]
OF_PYDANTIC: Final = ("Input should", "should be", "should have", " valid ", "Field required", "Extra inputs", "type=")


def with_field(path: str, value: Any) -> JsonObject:
    outer, _, inner = path.partition(".")
    if inner.startswith("arms."):
        return with_field("race.arms", [{"name": "a", inner.removeprefix("arms."): value}, {"name": "b"}])
    return {**GOOD, outer: {**NESTED.get(outer, {}), inner: value} if inner else value}


def faults_of(manifest: JsonObject | str) -> list[str]:
    try:
        read_manifest(manifest if isinstance(manifest, str) else write(manifest))
    except CatalogError as error:
        return str(error).split("\n")
    return []


def manifest_with(lines: str) -> str:
    """Return a good manifest with these lines, in place of its lines of the same keys."""
    keys = {line.partition(":")[0] for line in lines.splitlines()}
    kept = [line for line in BASE.splitlines() if line.partition(":")[0] not in keys]
    return "\n".join([*kept[:3], lines, *kept[3:]])


@pytest.mark.parametrize("path", fields(manifest_model()))
def test_whatever_a_field_is_given_a_fault_is_in_our_words_and_names_the_field(path: str) -> None:
    for value in WRONG:
        for fault in faults_of(with_field(path, value)):
            assert not any(words in fault for words in OF_PYDANTIC), fault
            assert "docs/manifest.md" not in fault, f"a fault without words of its own: {path}: {value!r}"
            assert path.partition(".")[0] in fault, fault


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("poll_intervall: PT1S", "poll_intervall: unknown field; did you mean poll_interval?"),
        ("steps: 3", "steps: unknown field; there are name, title, description,"),
        ("retries: 3", "retries: unknown field; did you mean retry?"),
        ("retry: 3", "retry: must have fields, each as `name: value`"),
        ("retry: {}", "retry.attempts: is missing"),
        ("retry: {attempts: 1}", "retry.attempts: must be at least 2"),
        ("retry: {attempts: 11}", "retry.attempts: must be at most 10"),
        ("retry: {attempts: two}", "retry.attempts: must be a whole number"),
        ("retry: {attempts: 2, backoff: fast}", "retry.backoff: must be a number"),
        ("retry: {attempts: 2, mode: redriven}", "retry.mode: must be one of restart, redrive; did you mean redrive?"),
        ("retry: {attempts: 2, delays: PT1S}", "retry.delays: unknown field; did you mean delay?"),
        ("retry: {attempts: 2, fallback: none}", "retry: at fallback: only mode: redrive can fall back"),
        ("retry: {attempts: 2, delay: PT2H}", "retry: at longest_delay: must be at least delay"),
        ("retry: {attempts: 2, errors: [A, States.ALL]}", "retry: at errors: States.ALL includes the others"),
        ("race: {}", "race.arms: is missing"),
        ("race: {arms: [{name: a}]}", "race.arms: must have at least 2 entries, and has 1"),
        ("race: {arms: [{name: a b}, {name: b}]}", "race.arms.0.name: must be 1 to 32 letters, digits, '_' and '-'"),
        ("race: {arms: [{name: a}, {name: a}]}", "race: at arms: the name 'a' is given twice"),
        ("race: {arms: [{name: a, delays: PT1S}, {name: b}]}", "arms.0.delays: unknown field; did you mean delay?"),
        ("race: {arms: [{name: a, delay: P2D}, {name: b}]}", "race.arms.0.delay: must be at most 1 day"),
        ("race: {arms: [{name: a}, {name: b}], quorum: 3}", "race: at quorum: must be at most 2, the number of arms"),
        (
            "race: {arms: [{name: a}, {name: b, delay: PT1S}], quorum: 2}",
            "race: at arms: at least 2 must start at once, without delay: as many as the quorum",
        ),
        (
            f"race: {{arms: [{{name: a, constants: {{x: {'y' * 1_100}}}}}, {{name: b}}]}}",
            "race: at arms: the constants of all arms together are larger than 1024 bytes",
        ),
        (
            "race: {arms: [{name: a, state_machine: A}, {name: b, state_machine: B}]}",
            "the file: at state_machine: each arm names its own: leave it out, with its role",
        ),
        (
            "race: {arms: [{name: a, role: 'arn:aws:iam::123456789012:role/r'}, {name: b}]}",
            "at race.arms: the arm 'a' has a role without a state_machine of its own",
        ),
        (
            "race: {arms: [{name: a}, {name: b, delay: PT5M}]}\nttl: PT5M",
            "at race.arms: the delay of 'b' must be shorter than ttl, after which nothing starts",
        ),
        (
            "race: {arms: [{name: a, constants: {x: 1}}, {name: b}]}\ninput: {constants: {x: 2}}",
            "at race.arms: the constant 'x' of 'a' is also a name in input",
        ),
        (
            "race: {arms: [{name: a, constants: {caller: 1}}, {name: b}]}\ncontext: caller",
            "at race.arms: the constant 'caller' of 'a' is also the name in context.input_key",
        ),
        ("task_support: optionl", "task_support: must be one of optional, required, forbidden; did you mean optional?"),
        ("show_errors: all", "show_errors: must be one of names, redacted, causes"),
        ("ttl: a week", "ttl: must be a duration such as PT30S, PT5M, PT2H or P7D"),
        ("ttl: P366D", "ttl: must be at most 365 days"),
        ("title: 5", "title: must be a text, not a number: put it in quotes"),
        ("title: true", "title: must be a text, not true or false: put it in quotes"),
        ("scopes: reports", "scopes: must be a list"),
        ("show_state: 5", "show_state: must be true or false"),
        ("confirm: {}", "confirm.message: is missing"),
        ("confirm: yes", "confirm: must have fields, each as `name: value`"),
        ("context: 5", "context: must be a name, or have fields, each as `name: value`"),
        ("idempotency: a", "idempotency: must be a list of arguments, or have fields, each as `name: value`"),
        ("output: {structured: [a]}", "output.structured: must be a JMESPath expression, or false"),
        ("result_bucket: My_Bucket", "result_bucket: must be the name of a bucket: 3 to 63 lower-case letters"),
        ("output_schema: {type: int}", "output_schema: at /type: 'int' is no type of JSON Schema; write 'integer'"),
        ("output_schema: {type: xyz}", "'xyz' is no type of JSON Schema; the types are string, number, integer"),
        ("state_machine: !Ref Settle", "line 4: the tag !Ref means nothing here: write the name itself"),
        ("state_machine: !Sub '${Settle}'", "line 4: the tag !Sub means nothing here"),
        ("title: Wait: and echo", "mapping values are not allowed here: quote texts with a colon"),
        ("title: 2026-11-22", "line 4: 2026-11-22 is read as a date: put it in quotes"),
        ("title: .nan", "a number is not finite (.nan, .inf): write it as a text, in quotes"),
        ("title: !!binary aGk=", "a value has a type that JSON does not have: write it as a text, in quotes"),
        ("title: !!set {a}", "a value has a type that JSON does not have"),
        ("title: !!int x", "a value is not what its tag (!!...) says"),
        ("input_schema: {type: object, maximum: 123456789012345678901}", "would lose digits"),
        ("\ttitle: x", "line 4: found character '\\t'"),
        ("name: ''", "name: must be 1 to 128 letters"),
        (f"name: {'n' * 129}", "name: must be 1 to 128 letters"),
        ("name: grüße", "name: must be 1 to 128 letters"),
        ("name: 5", "name: must be a text, not a number: put it in quotes"),
        ("title: ''", "title: must not be empty"),
        ("description: ''", "description: must not be empty"),
        ("state_machine: ''", "state_machine: must not be empty"),
        ("input_schema: text", "input_schema: must have fields"),
        ("input_schema: null", "input_schema: must have fields"),
        ("input_schema: {}", "input_schema: at type: must be 'object'"),
        ("input_schema: {type: array}", "input_schema: at type: must be 'object'"),
        (
            "input_schema: {type: object, properties: {a: {type: array, items: {anyOf: [{type: int}]}}}}",
            "input_schema: at /properties/a/items/anyOf/0/type: 'int' is no type of JSON Schema; " "write 'integer'",
        ),
        (
            "input_schema: {type: object, properties: {a: {type: [date, 'null']}}}",
            "input_schema: at /properties/a/type: 'date' is no type of JSON Schema; the types are string, ",
        ),
        (
            "input_schema: {type: object, properties: {type: {default: {type: int}}, b: {minLength: -1}}}",
            "input_schema: at /properties/b/minLength: ",
        ),
        (
            "input_schema: {type: object, properties: {a: {$ref: 'https://schemas.example/a'}}}",
            "input_schema: at the top level: ",
        ),
        (
            "input_schema: {type: object, $schema: 'http://json-schema.org/draft-07/schema#'}",
            "input_schema: at $schema: ",
        ),
        (
            "input_schema: {type: object, properties: {a: {type: number, x-mcp-header: A}}}",
            "input_schema: at /properties/a: x-mcp-header needs a type of ",
        ),
        (
            "input_schema: {type: object, properties: {country: {type: string, enum: [NO, SE]}}}",
            "input_schema: at /properties/country/enum: false is no string: put it in quotes",
        ),
        (
            "input_schema: {type: object, properties: {a: {items: {type: [string, 'null'], const: 1.10}}}}",
            "input_schema: at /properties/a/items/const: 1.1 is no string or null: put it in quotes",
        ),
        (
            "output_schema: {type: integer, enum: [1, 2.0, null, '3']}",
            "output_schema: at /enum: \"3\" is no integer: leave it out, or correct the type",
        ),
        ("output_schema: {type: Bool}", "output_schema: at /type: 'Bool' is no type of JSON Schema; write 'bo"),
        (f"output_schema: {{description: {'x' * LARGEST_SCHEMA}}}", "output_schema: larger than 32768 bytes"),
        ("task_support: sometimes", "task_support: must be one of optional, required, forbidden"),
        ("ttl: PT59S", "ttl: must be at least 1 minute"),
        ("keep_result: -PT1S", "keep_result: must be at least 0 seconds"),
        ("keep_result: P31D", "keep_result: must be at most 30 days"),
        ("result_prefix: '{task_id}/'", "the file: at result_prefix: there is no result_bucket"),
        ("output: {object: result}", "the file: at output.object: there is no result_bucket"),
        ("result_bucket: my-reports\noutput: {object: 'a['}", "output: at object: "),
        ("poll_interval: 0", "poll_interval: must be at least 0.1 seconds"),
        ("poll_interval: PT2H", "poll_interval: must be at most 1 hour"),
        ("annotations: {readOnlyHint: 'yes'}", "annotations.readOnlyHint: must be true or false"),
        ("annotations: {read_only: true}", "annotations.read_only: unknown field; did you mean readOnlyHint?"),
        ("client_capabilities: {elicitation: true}", "client_capabilities.elicitation: must have fields"),
        ("confirm: {mesage: Really, message: Really}", "confirm.mesage: unknown field; did you mean message?"),
        ("confirm: {message: a, shema: {}}", "confirm.shema: unknown field; did you mean schema?"),
        ("confirm: Really?", "confirm: must have fields, each as `name: value`"),
        # confirm
        ("confirm: {message: ''}", "confirm: at /message: "),
        (f"confirm: {{message: {'x' * (LONGEST_QUESTION + 1)}}}", "confirm: at /message: "),
        ("confirm: {message: m, key: ''}", "confirm.key: must be 1 to 64 letters"),
        ("confirm: {message: m, key: a b}", "confirm.key: must be 1 to 64 letters"),
        ('confirm: {message: m, key: "a\\n"}', "confirm.key: must be 1 to 64 letters"),
        (
            "confirm: {message: m, url: 'https://a.example'}",
            "confirm.url: unknown field; there are message, key, schema, input_key",
        ),
        ("confirm: {message: m, schema: {type: object}}", "confirm: at /schema: "),
        (
            "confirm: {message: m, schema: {type: object, properties: {a: {type: object}}}}",
            "confirm: at /schema/properties/a: ",
        ),
        (
            "confirm: {message: m, schema: {type: object, properties: {}, required: [a]}}",
            "confirm: at /schema/required",
        ),
        ("confirm: {message: m, input_key: ''}", "confirm.input_key: must not be empty"),
        (
            f"confirm: {{message: m, input_key: {'k' * 65}}}",
            "confirm.input_key: must have at most 64 characters, and has 65",
        ),
        (
            "confirm: {message: m, input_key: text}",
            "at confirm.input_key: 'text' is a property of input_schema already",
        ),
        ("confirm: {message: 'Wipe {table}?'}", "at confirm.message: {table} is no property of input_schema"),
        ("show_state: sometimes", "show_state: must be true or false"),
        # idempotency
        ("idempotency: [custommer]", "at idempotency.arguments: 'custommer' is no property of input_schema"),
        ("idempotency: [odd]", "at idempotency.arguments: 'odd' is no property of input_schema"),
        ("idempotency: [customer, note]", "at idempotency.arguments: 'note' is not required by input_schema"),
        ("idempotency: [any]", "at idempotency.arguments: 'any' must have a type in input_schema"),
        ("idempotency: [all]", "at idempotency.arguments: 'all' must have a type in input_schema"),
        ("idempotency: [items]", "at idempotency.arguments: 'items' may be nested"),
        ("idempotency: [part]", "at idempotency.arguments: 'part' may be nested"),
        ("idempotency: [customer, customer]", "at idempotency.arguments: a name is given twice"),
        ("idempotency: []", "idempotency.arguments: must not be empty"),
        ("idempotency: [{customer: true}]", "idempotency.arguments.0: must be a text, not fields"),
        ("idempotency: customer", "idempotency: must be a list of arguments, or have fields, each as `name: value`"),
        ("idempotency: {window: PT1H}", "idempotency.arguments: is missing"),
        (
            "idempotency: {arguments: [customer], windov: PT1H}",
            "idempotency.windov: unknown field; did you mean window?",
        ),
        ("idempotency: {arguments: [customer], window: PT0S}", "idempotency.window: must be at least 1 minute"),
        ("idempotency: {arguments: [customer], window: -PT1H}", "idempotency.window: must be at least 1 minute"),
        ("idempotency: {arguments: [customer], window: PT59S}", "idempotency.window: must be at least 1 minute"),
        ("idempotency: {arguments: [customer], window: P366D}", "idempotency.window: must be at most 365 days"),
        ("idempotency: {arguments: [customer], window: P8D}", "at idempotency.window: must not be longer than ttl"),
        ("idempotency: {arguments: [customer], window: soon}", "idempotency.window: must be a duration such as PT30S"),
        # input and context
        ("context: customer", "at context.input_key: 'customer' is a property of input_schema"),
        ("input: {constants: {month: 1}}", "at input.constants.month: 'month' is a property of input_schema"),
        ("input: {constants: {a: 1}}\ncontext: a", "at context.input_key: 'a' is also the name in input.constants.a"),
        ("input: {constants: {a: 1}, defaults: {a: 1}}", "defaults.a: 'a' is also the name in input.constants.a"),
        ("context: a\nconfirm: {message: Really, input_key: a}", "is also the name in confirm.input_key"),
        ("input: {defaults: {month: July}}", "at input.defaults.month: at /month: \"July\" is not of type \"integer\""),
        ("input: {constants: {a: " + "x" * 9_000 + "}}", "at constants: larger than 8192 bytes of JSON"),
        ("context: {input_key: a, claims: [sub, sub]}", "'sub' is listed twice"),
        ("context: {claims: [sub]}", "context.input_key"),
        ("context: {input_key: a, claim: [sub]}", "context.claim: unknown field; did you mean claims?"),
        ("input: {constant: {}}", "input.constant: unknown field; did you mean constants?"),
        ("context: ''", "context.input_key"),
        ("context: {input_key: a, claims: " + str([str(number) for number in range(21)]) + "}", "context.claims"),
        # output
        ("output: {structured: 'a['}", "output: at structured: 'a[' is no JMESPath expression"),
        ("output: {structured: 'lenght(a)'}", "did you mean length()?"),
        ("output: {structured: true}", "output.structured"),
        ("output: {structured: false}", "output: at structured: without structured content"),
        ("output: {structured: false, text: x}\noutput_schema: {type: object}", "so it must not be false"),
        ("output: {text: 'Settled {total'}", "at text: at character 9: '{' is not closed; write '{{'"),
        ("output: {text: 'Settled }'}", "'}' closes nothing; write '}}' for a brace"),
        ("output: {content: [{type: picture}]}", "at content.0.type: must be one of text, image"),
        ("output: {content: [{type: image, date: x, mimeType: y}]}", "0.date: unknown field; did you mean data?"),
        ("output: {content: [{type: image, mimeType: y}]}", "at content.0.data: is missing"),
        ("output: {content: [{type: text, text: '{a b}'}]}", "at content.0.text: 'a b' is no JMESPath expression"),
        ("output: {content: [{type: text, text: a, each: '('}]}", "at content.0.each: '(' is no"),
        ("output: {content: [{type: resource, resource: {uri: '{('}}]}", "at content.0.resource.uri"),
        ("output: {meta: {io.modelcontextprotocol/related-task: x}}", "is not yours"),
        ("output: {meta: {stepwire/task: x}}", "is not yours"),
        ("output: {meta: {a: {b: ['{']}}}", "at meta.a.b.0: at character 1"),
        ("icons: {src: a}", "icons: must be a list"),
        ("icons: [{}]", "icons.0.src: is missing"),
        ("icons: [" + "{src: 'https://a.example/b.png'}," * 5 + "]", "icons: must have at most 4 entries, and has 5"),
        ("icons: [{src: 'javascript:alert(1)'}]", "icons.0.src: must be an https URL, or an image as data:image/png"),
        ("icons: [{src: 'http://a.example/b.png'}]", "icons.0.src: must be an https URL"),
        ("icons: [{src: 'https://me@a.example/b.png'}]", "icons.0.src: must be an https URL"),
        ("icons: [{src: 'data:text/html;base64,AAAA'}]", "icons.0.src: must be an https URL"),
        ("icons: [{src: 'data:image/svg+xml,<svg/>'}]", "icons.0.src: must be an https URL"),
        (f"icons: [{{src: 'https://a.example/{'x' * 10_000}'}}]", "icons.0.src: must have at most 10000 characters"),
        ("icons: [{src: 'data:image/png;base64,AA==', mimeType: image/webp}]", "mimeType: src has the type image/png"),
        ("icons: [{src: 'https://a.example/b', mimeType: image/gif}]", "icons.0.mimeType: must be one of image/png"),
        ("icons: [{src: 'https://a.example/b', mime_type: image/png}]", "unknown field; did you mean mimeType?"),
        ("icons: [{src: 'https://a.example/b', sizes: [48]}]", "icons.0.sizes.0: must be a text"),
        ("icons: [{src: 'https://a.example/b', sizes: [48 x 48]}]", "must be a width and a height in pixels"),
        ("icons: [{src: 'https://a.example/b', theme: blue}]", "icons.0.theme: must be one of light, dark"),
        ("output: {txt: a}", "output.txt: unknown field; did you mean text?"),
        ("output: {content: [" + "{type: text, text: a}," * 21 + "]}", "output.content"),
        ("output: {text: '" + "x" * 10_001 + "'}", "output.text"),
        ("output: {meta: {a: '" + "x" * LARGEST_SCHEMA + "'}}", "together with output_schema larger than 32768 bytes"),
    ],
)  # fmt: skip
def test_each_mistake_is_answered_with_what_is_right(lines: str, fault: str) -> None:
    """M28, M34, M35, M39, M47."""
    (found,) = faults_of(manifest_with(lines))

    assert fault in found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: greet\nname: greet", "line 2: the key 'name' is given twice"),
        (
            "input_schema:\n  properties: {no: {type: string}}",
            "line 2: the key 'no' is no text in YAML: put it in quotes",
        ),
        ("context: {~: a}", "line 1: the key '~' is no text in YAML: put it in quotes"),
        ("context: {010: a}", "line 1: the key '010' is no text in YAML: put it in quotes"),
        ("input_schema:\n  type: object\n  type: array", "line 3: the key 'type' is given twice"),
        ("name: [greet", "line "),
        ("name: greet\n\tdescription: tab", "line 2: "),
        ("name: *nobody", "line 1: "),
        ("name: !!python/object/apply:os.getcwd []", "line 1: "),
        ("description: 2026-08-01", "line 1: 2026-08-01 is read as a date: put it in quotes"),
        ("a: 1\nb: {default: 2026-08-01T12:00:00Z}", "line 2: 2026-08-01T12:00:00Z is read as a date"),
        ("name: 9007199254740992", "no JSON: "),
        ("", "the file is empty: write the tool's fields, `name: ...` first"),
        ("- name: greet", "the file: must have fields, each as `name: value`"),
        ("name: a\n---\nname: b", "line 2: "),
    ],
)
def test_what_is_no_yaml_or_no_json_is_named_with_its_line(text: str, fault: str) -> None:
    (found,) = faults_of(text)

    assert found.startswith(fault)


def test_a_file_that_is_empty_or_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# nothing yet\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_bytes("name: b\ndescription: Grüße\n".encode("latin-1"))

    with pytest.raises(CatalogError) as error:
        compile_directory(tmp_path)

    empty, encoded = str(error.value).split("\n")
    assert empty == f"{tmp_path}/a.yaml: the file is empty: write the tool's fields, `name: ...` first"
    assert encoded == f"{tmp_path}/b.yaml: line 2: byte 0xfc is not UTF-8: save the file as UTF-8"


def test_all_faults_of_a_manifest_are_said_at_once() -> None:
    manifest = {**GOOD, "ttl": "a week", "show_state": "maybe", "titel": "x"}

    assert [fault.partition(":")[0] for fault in faults_of(manifest)] == ["ttl", "show_state", "titel"]


def test_the_good_manifest_of_these_tests_is_good() -> None:
    assert faults_of(GOOD) == []
    assert faults_of(yaml.safe_dump(GOOD)) == []


def test_a_json_manifest_with_an_emoji_is_read_as_python_writes_it() -> None:
    """L7: JSON escapes such a character as two halves, which YAML does not join."""
    text = json.dumps({**GOOD, "title": "Settle \U0001f389"})

    assert "\\ud83c\\udf89" in text
    assert read_manifest(text).title == "Settle \U0001f389"


# M7: a user or a model reads other words than a reviewer of the manifest
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"title": "Ab\u202egpj.exe"}, "title: has the invisible character U+202E: leave it out"),
        ({"title": "two\nlines"}, "title: has the invisible character U+000A"),
        ({"description": "a\u001b[2J"}, "description: has the invisible character U+001B"),
        ({"description": "a\u200b"}, "description: has the invisible character U+200B"),
        ({"description": "a\U000e0041"}, "description: has the invisible character U+E0041"),
        ({"description": "a\ufe01"}, "description: has the invisible character U+FE01"),
        ({"description": "a\u200db"}, "description: has the invisible character U+200D"),
        ({"annotations": {"title": "\u3164"}}, "annotations.title: has the invisible character U+3164"),
        ({"confirm": {"message": "Sure\u202e?"}}, "confirm.message: has the invisible character U+202E"),
        (
            {"input_schema": {"type": "object", "properties": {"a": {"description": "x\u2066y"}}}},
            "input_schema: at /properties/a/description: has the invisible character U+2066",
        ),
    ],
)
def test_an_invisible_character_in_what_is_shown_is_refused(changes: JsonObject, fault: str) -> None:
    assert fault in "\n".join(faults_of({**GOOD, **changes}))


@pytest.mark.parametrize(
    "text", ["\u0645\u06cc\u200c\u062e", "\u0915\u094d\u200d\u0937", "👩\u200d💻", "⚠\ufe0f Refunds"]
)
def test_joiners_of_letters_and_emoji_are_part_of_the_text(text: str) -> None:
    assert faults_of({**GOOD, "title": text, "description": f"One\n\ttwo {text}"}) == []


@pytest.mark.parametrize("field", ["name", "description", "state_machine", "input_schema"])
def test_a_field_that_is_missing_is_named(field: str) -> None:
    assert faults_of({name: value for name, value in GOOD.items() if name != field}) == [f"{field}: is missing"]


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "/",
        "reports/",
        "{principal}",
        "/{principal}/",
        "{owner}/",
        "../{principal}/",
        "{principal}/./",
        "a//{task_id}/",
    ],
)
def test_a_prefix_without_the_task_or_its_caller_is_refused(prefix: str) -> None:
    (found,) = faults_of(manifest_with(f"result_bucket: my-reports\nresult_prefix: '{prefix}'"))

    assert "result_prefix" in found


@pytest.mark.parametrize("scope", ["''", "'two words'", "'quo\"ted'", "'back\\slash'", "ümlaut", "7", "null"])
def test_a_scope_is_one_word_that_is_valid_in_a_header(scope: str) -> None:
    assert faults_of(manifest_with(f"scopes: [{scope}]"))[0].startswith("scopes.0: ")


@pytest.mark.parametrize(
    "more",
    [
        "allOf: [{properties: {caller: {type: object}}}]",
        "anyOf: [{required: [caller]}, {}]",
        "if: {properties: {caller: true}}, then: {}",
        "$ref: '#/$defs/x', $defs: {x: {properties: {caller: {}}}}",
        "dependentSchemas: {customer: {properties: {caller: {}}}}",
        "allOf: [{$ref: '#/$defs/y'}, {$ref: '#/$defs/x'}], $defs: {x: {$ref: '#/$defs/y'}, y: {required: [caller]}}",
    ],
)
def test_a_schema_that_offers_what_the_server_sets_in_any_way_is_refused(more: str) -> None:
    (found,) = faults_of(manifest_with(f"context: caller\ninput_schema: {{type: object, {more}}}"))

    assert "'caller' is a property of input_schema" in found


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("properties: {a: {type: integer, default: x}}", 'at /properties/a/default: at the top level: "x"'),
        ("properties: {a: {type: object, properties: {b: {enum: [1], default: 2}}}}", "at /properties/a/properties/b"),
        ("properties: {'a/b %': {$ref: '#/$defs/n', default: x}}, $defs: {n: {type: integer}}", "/properties/a~1b %/"),
        ("properties: {a: {$ref: '#/$defs/n'}}, $defs: {n: {type: integer, default: x}}", "at /$defs/n/default"),
        ("properties: {a: {type: array, items: {properties: {b: {type: 'null', default: 1}}}}}", "/items/properties/b"),
    ],
)
def test_a_default_that_its_own_schema_refuses_is_a_fault(schema: str, words: str) -> None:
    (found,) = faults_of(manifest_with(f"input_schema: {{type: object, {schema}}}"))

    assert words in found
