"""The form of a question, as it is shown to who answers it with values."""

from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams

from stepwire_cli.use.forms import as_typed


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"amount": {"type": "integer"}, "note": {"type": "string"}}, "amount=NUMBER [note=TEXT]"),
        ({"amount": {"type": "boolean"}}, "amount=yes|no"),
        ({"amount": {"type": "string", "enum": ["approved", "rejected"]}}, "amount=approved|rejected"),
        ({"amount": {"type": "array", "items": {"enum": list("abcdefghi")}}}, "amount=a|b|c|d|e|f|g|h|..."),
        ({"amount": {"type": "string", "oneOf": [{"const": "s\x1b[2J", "title": "Small"}]}}, "amount=s\\u001b[2J"),
        ({"amount": {"$ref": "https://example.com"}}, ""),
        ({}, ""),
    ],
)
def test_the_values_of_an_answer_are_shown_as_they_are_typed(fields: dict[str, Any], shown: str) -> None:
    schema = {"type": "object", "properties": fields, "required": ["amount"]}

    assert as_typed(ElicitRequestFormParams(message="May it go on?", requested_schema=schema)) == shown
