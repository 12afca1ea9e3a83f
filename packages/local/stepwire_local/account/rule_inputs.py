"""What a target of a rule gets of an event: the event, a constant, a part of the event, or a text made of its parts.

Pure. The source is the EventBridge user guide, "Amazon EventBridge input transformation". One difference: a variable
whose path leads nowhere is an empty text between quotes, and null elsewhere.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from jsonpath_ng.ext.parser import parse

_VARIABLE: Final = re.compile(r"<([^<>\s]+)>")
_QUOTE: Final = re.compile(r'(?<!\\)"')


def input_of(target: Mapping[str, Any], event: Mapping[str, Any], rule: str) -> str:
    """Return what a target gets, as JSON text; `rule` is the ARN of the rule."""
    if "Input" in target:
        return str(target["Input"])
    if "InputPath" in target:
        return json.dumps(_at(str(target["InputPath"]), event))
    if "InputTransformer" in target:
        return _transformed(target["InputTransformer"], event, rule)
    return json.dumps(event)


def _transformed(transformer: Mapping[str, Any], event: Mapping[str, Any], rule: str) -> str:
    values = {name: _at(path, event) for name, path in transformer.get("InputPathsMap", {}).items()}
    known = {
        "aws.events.event": {name: value for name, value in event.items() if name != "detail"},
        "aws.events.event.json": event,
        "aws.events.event.ingestion-time": event.get("time"),
        "aws.events.rule-arn": rule,
        "aws.events.rule-name": rule.rpartition("/")[2],
    }
    template = str(transformer["InputTemplate"])

    def written(found: re.Match[str]) -> str:
        value = {**known, **values}.get(found[1])
        is_in_quotes = len(_QUOTE.findall(template, 0, found.start())) % 2 == 1
        return _in_quotes(value) if is_in_quotes else json.dumps(value)

    text = _VARIABLE.sub(written, template)
    try:
        return json.dumps(json.loads(text))
    except ValueError:  # a text of several lines, say
        return json.dumps(text)


def _in_quotes(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return json.dumps(text)[1:-1]


def _at(path: str, event: Mapping[str, Any]) -> Any:
    expression: Any = parse(path)
    found = expression.find(event)
    return found[0].value if found else None
