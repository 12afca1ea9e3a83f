"""What a manifest says of the result: all of it is checked when it is compiled."""

from pathlib import Path
from typing import Final

import pytest

from stepwire.catalog.manifest import LARGEST_SCHEMA
from stepwire.catalog.manifests import compile_directory, read_manifest
from stepwire.catalog.tools import Tool, read_catalog
from stepwire.errors import CatalogError
from stepwire.json_text import load_json
from stepwire.tasks.task import Causes
from tests.kits import state_machine_arn

BASE: Final = "name: settle\ndescription: Settles.\nstate_machine: Settle\ninput_schema: {type: object}\n"


def compiled(folder: Path, lines: str) -> Tool:
    (folder / "settle.yaml").write_text(BASE + lines, encoding="utf-8")
    (tool,) = read_catalog(compile_directory(folder), {"Settle": state_machine_arn("Settle")}).in_order
    return tool


def test_without_the_field_the_output_stays_as_it_is(tmp_path: Path) -> None:
    assert compiled(tmp_path, "").output_shape is None


def test_the_text_comes_before_the_other_content(tmp_path: Path) -> None:
    tool = compiled(
        tmp_path,
        """
output:
  structured: "{total: total}"
  text: "Settled {total}."
  content:
    - {type: image, data: "{chart}", mimeType: image/png}
    - {type: resource_link, each: reports, uri: "{url}", name: Report}
  meta: {example.com/ledger: "{ledger.id}"}
""",
    )

    assert load_json(tool.output_shape or "") == {
        "structured": "{total: total}",
        "content": [
            {"type": "text", "text": "Settled {total}."},
            {"type": "image", "data": "{chart}", "mimeType": "image/png"},
            {"type": "resource_link", "each": "reports", "uri": "{url}", "name": "Report"},
        ],
        "meta": {"example.com/ledger": "{ledger.id}"},
    }


@pytest.mark.parametrize(
    ("lines", "words"),
    [
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
        ("output: {txt: a}", "output.txt: unknown field; did you mean text?"),
        ("output: {content: [" + "{type: text, text: a}," * 21 + "]}", "output.content"),
        ("output: {text: '" + "x" * 10_001 + "'}", "output.text"),
        ("output: {meta: {a: '" + "x" * LARGEST_SCHEMA + "'}}", "together with output_schema larger than 32768 bytes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(lines: str, words: str) -> None:
    with pytest.raises(CatalogError) as error:
        read_manifest(BASE + lines)

    assert words in str(error.value)


@pytest.mark.parametrize(
    ("lines", "causes"),
    [
        ("", Causes.REDACTED),
        ("show_errors: redacted", Causes.REDACTED),
        ("show_errors: names", Causes.HIDDEN),
        ("show_errors: causes", Causes.SHOWN),
    ],
)
def test_how_much_of_a_failure_is_shown_has_three_values(tmp_path: Path, lines: str, causes: Causes) -> None:
    assert compiled(tmp_path, lines).causes is causes
