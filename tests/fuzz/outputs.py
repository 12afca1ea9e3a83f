"""Shapes of outputs: a line with the field `output` of a manifest, as JSON, and then the output of a workflow.

Whatever the shape and the output are, a shape that compiles makes a result that clients can read, or a fault in words.
"""

import json
from typing import Final

from pydantic import ValidationError

from stepwire.json_text import JsonTextError, parse, write
from stepwire.manifests.fields import OutputFields
from stepwire.tasks.events import WorkCompleted
from stepwire.tasks.outcomes import Succeeded, event_of
from stepwire.tasks.task import LARGEST_INPUT, Causes, ToolResult
from stepwire.tasks.tool_results import is_tool_result
from tests.fuzz.bounds import bounded

_OUTPUT: Final = '{"total": 5, "list": [{"a": 1, "u": "https://a.example/b"}, {"a": 2}], "text": "x", "none": null}'
_SEEDS: Final = (
    {"structured": "{sum: sum(list[].a), n: length(list)}"},
    {"structured": "list[?a > `1`] | sort_by(@, &a)[].{u: u}", "text": "{total} of {{x}}: {text}{none}"},
    {"structured": False, "content": [{"type": "resource_link", "each": "list", "uri": "{u}", "name": "N {a}"}]},
    {"content": [{"type": "image", "data": "{text}", "mimeType": "image/png"}], "meta": {"a.b/c": "{list}"}},
    {"text": "{join(', ', list[].to_string(@))}", "meta": {"a": {"b": ["{none}", 5]}}},
)


def check(data: bytes) -> bool:
    """Shape an output."""
    line, _, rest = data.partition(b"\n")
    try:
        fields, output = parse(line), rest.decode()
    except (JsonTextError, UnicodeDecodeError):
        return False
    if len(rest) > LARGEST_INPUT:
        return False
    try:
        with bounded():
            shape = write(OutputFields.model_validate(fields).compiled())
            event = event_of(Succeeded(output), None, Causes.REDACTED, shape)
    except ValidationError:
        return True
    assert isinstance(event, WorkCompleted)
    assert isinstance(event.result, ToolResult)
    assert is_tool_result(event.result.value()), "clients can read it"
    return True


def seeds() -> list[bytes]:
    """List shapes of each kind, with an output."""
    return [f"{json.dumps(shape)}\n{_OUTPUT}".encode() for shape in _SEEDS]
