"""Manifests teach: whatever is wrong with a field is said in words of ours, with the field, and with what is right."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from stepwire.catalog.manifest import fields
from stepwire.catalog.manifests import compile_directory, read_manifest
from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject, write

GOOD: Final[JsonObject] = {
    "name": "settle",
    "description": "Settles.",
    "state_machine": "Settle",
    "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
}
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


@pytest.mark.parametrize("path", fields())
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
        ("race: {arms: [{name: a}, {name: b}], slots: two}", "race.slots: must be one of one, each"),
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
        ("ttl: P31D", "ttl: must be at most 30 days"),
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
    ],
)  # fmt: skip
def test_each_mistake_is_answered_with_what_is_right(lines: str, fault: str) -> None:
    text = "name: settle\ndescription: Settles.\ninput_schema: {type: object}\n" + lines + "\nstate_machine: Settle\n"
    if lines.startswith(("state_machine", "input_schema")):
        text = "name: settle\ndescription: Settles.\n\n" + lines + "\n"

    assert any(fault in one for one in faults_of(text)), faults_of(text)


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
