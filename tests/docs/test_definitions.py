"""Each task of a definition in the documents and the examples has the arguments that Step Functions requires."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import pytest
import yaml

from tests.docs.pages import PAGES, ROOT, page

_REQUIRED: Final = {
    "lambda:invoke": {"FunctionName"},
    "http:invoke": {"ApiEndpoint", "Method", "Authentication"},
    "events:putEvents": {"Entries"},
    "sns:publish": {"Message"},
    "sqs:sendMessage": {"QueueUrl", "MessageBody"},
    "states:startExecution": {"StateMachineArn"},
}
"""Of each integration. The local stack runs tasks without some of them; CreateStateMachine refuses them."""


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as their values."""


def _value(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


cast("Any", _Loader).add_multi_constructor("!", _value)


def tasks_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the tasks of a text, at any depth."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if members.get("Type") == "Task":
            yield members
        for one in members.values():
            yield from tasks_in(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from tasks_in(one)


def fault_of(task: Mapping[str, Any]) -> str | None:
    """Return what a task lacks; None: nothing, or it is of an integration that is not known here."""
    integration = str(task["Resource"]).partition(":states:::")[2].partition(".")[0]
    given = {name.removesuffix(".$") for name in {**task.get("Arguments", {}), **task.get("Parameters", {})}}
    lacks = _REQUIRED.get(integration, set[str]()) - given
    return f"{integration} without {sorted(lacks)}" if lacks else None


def test_each_task_has_what_its_integration_requires() -> None:
    shown = [block for path in PAGES for block in page(path).blocks("yaml")]
    texts = [*shown, *(one.read_text(encoding="utf-8") for one in (ROOT / "examples" / "workflows").glob("*.yaml"))]
    tasks = [task for text in texts for task in tasks_in(yaml.load(text, _Loader))]

    assert [fault for task in tasks if (fault := fault_of(task))] == []
    assert len(tasks) > (10 if (ROOT / "examples").is_dir() else 5)


@pytest.mark.parametrize(
    ("resource", "arguments", "fault"),
    [
        ("arn:aws:states:::http:invoke", {"ApiEndpoint.$": "$.a", "Method": "GET"}, "without ['Authentication']"),
        ("arn:aws:states:::lambda:invoke.waitForTaskToken", {}, "without ['FunctionName']"),
        ("arn:aws:lambda:us-east-1:123456789012:function:a", {}, None),
    ],
)
def test_what_step_functions_would_refuse_is_found(resource: str, arguments: Any, fault: str | None) -> None:
    found = fault_of({"Type": "Task", "Resource": resource, "Parameters": arguments})

    assert found is None if fault is None else fault in (found or "")
