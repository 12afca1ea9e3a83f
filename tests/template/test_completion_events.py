"""Who is told about status changes: the changes of the table that the function gets, that no event of ours comes back
to us, and the listeners on the bus that the documentation has.
"""

import json
import re
from itertools import product
from typing import Any, Final, cast

import pytest
from moto.events.models import EventPattern
from msgspec.structs import replace
from samtranslator.yaml_helper import yaml_parse  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType] - it has none

from stepwire.aws.status_changes_function import SOURCE, change_in
from stepwire.aws.storage.items import item_of
from stepwire.changes import STATUS_CHANGE, Removal, status_event
from stepwire.rendering import modern_status
from stepwire.tasks.answers import Audience
from stepwire.tasks.inputs import Callback, InputRequest, UrlElicitation
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    ResultInExecution,
    Status,
    Task,
    TaskError,
    Working,
)
from stepwire_cli.deployment.parts import read_core, read_part
from tests.changes import saved
from tests.kits import World
from tests.recorded import recorded
from tests.template.chosen import IN_TEMPLATE, OFF, Stack, stack
from tests.template.document import ROOT, resource, resources, template

Record = dict[str, Any]
REQUEST: Final = InputRequest("key", 1, UrlElicitation("m", "https://sign.example"), Callback("token"))
STATUSES: Final[tuple[Status, ...]] = (
    Working(),
    InputRequired((REQUEST,)),
    Completed(ResultInExecution(is_error=False)),
    Completed(ResultInExecution(is_error=True)),
    Failed(TaskError(1, "m")),
    Cancelled(),
)
LIVELY: Final = STATUSES[:2]
BY_TTL: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
TASK: Final = replace(World().call(), version=1)
ACTIONS: Final = {"input_required", "completed", "failed", "cancelled", "expired"}


def record(kind: str, before: Status | None, after: Status | None, **more: Any) -> Record:
    """Return the stream record of a change of the table."""
    images = {"OldImage": before, "NewImage": after}
    items = {name: item_of(_with(status)) for name, status in images.items() if status is not None}
    keys = {name: item_of(TASK)[name] for name in ("pk", "sk")}
    return {"eventName": kind, "dynamodb": {"ApproximateCreationDateTime": 1.0, "Keys": keys, **items}, **more}


def _with(status: Status) -> Task:
    return replace(TASK, status=status)


RECORDS: Final = (
    *(record("INSERT", None, status) for status in LIVELY),
    *(record("MODIFY", before, after) for before, after in product(LIVELY, STATUSES)),
    *(record("REMOVE", status, None) for status in STATUSES),
    *(record("REMOVE", status, None, userIdentity=BY_TTL) for status in STATUSES),
)


def pattern_of(value: Any) -> EventPattern:
    return EventPattern.load(value if isinstance(value, str) else json.dumps(value))


def matches(pattern: EventPattern, event: Record) -> bool:
    return pattern.matches_event(cast(Any, event))


WHO_IS_TOLD: Final = ROOT / "extras/approvals_or_event_bus_or_events/template.yaml"
"""What brings the function, without what widens its filters."""
FILTERS: Final[dict[str, list[dict[str, str]]]] = {
    "questions": read_part(WHO_IS_TOLD)["Resources"]["StatusChanges"]["Properties"]["FilterCriteria"]["Filters"],
    "statuses": template()["Resources"]["StatusChanges"]["Properties"]["FilterCriteria"]["Filters"],
}
"""By what is told: with all extras, statuses, too."""


def reaches_the_function(one: Record, filters: list[dict[str, str]] = FILTERS["statuses"]) -> bool:
    assert len(filters) <= 5, "Lambda takes no more"
    return any(matches(pattern_of(wanted["Pattern"]), one) for wanted in filters)


def pattern_of_rule(made: Stack, name: str) -> EventPattern:
    return pattern_of(made.properties(name)["EventPattern"])


def event_of(before: Status, after: Status) -> Record:
    """Return the event that the function publishes for a change."""
    event = status_event(saved(_with(before), _with(after)))
    assert event is not None
    return {**recorded("task_status_changed"), "detail": event.detail}


# -------------------------------------------------------------------------------- what the function sees of the table


def test_every_change_of_a_status_reaches_the_function() -> None:
    told = [one for one in RECORDS if change_in(one).is_of_status]

    assert len(told) == 16
    assert [one for one in told if not reaches_the_function(one)] == []


def test_checks_and_removals_of_ended_tasks_cost_no_invocation() -> None:
    silent = [one for one in RECORDS if not change_in(one).is_of_status and reaches_the_function(one)]

    assert silent == [record("MODIFY", LIVELY[1], LIVELY[1])], (
        "another question, or an answer to one of several, is no change of status"
    )


WITH_A_ROUTE: Final = replace(
    TASK,
    work=replace(TASK.work, routes={"an extra": {"of": "its own"}}),
    inputs=Inputs(asked=1, used_keys=("approve",), has_asked_others=True),
)
ASKING_OTHERS: Final = replace(
    WITH_A_ROUTE,
    status=InputRequired((replace(REQUEST, audience=Audience("an extra", "finance")),)),
)
"""A working task that has a question to others."""
QUESTIONS: Final = {
    "asked": (TASK, ASKING_OTHERS),
    "announced again, or one more vote": (ASKING_OTHERS, ASKING_OTHERS),
    "decided": (ASKING_OTHERS, WITH_A_ROUTE),
    "withdrawn by the end": (ASKING_OTHERS, replace(TASK, status=Cancelled())),
    "removed with its task": (ASKING_OTHERS, None),
}


@pytest.mark.parametrize("told", FILTERS)
@pytest.mark.parametrize("change", QUESTIONS)
def test_every_change_of_a_question_to_others_reaches_the_function(change: str, told: str) -> None:
    before, after = QUESTIONS[change]
    images = {"OldImage": item_of(before), **({"NewImage": item_of(after)} if after else {})}
    keys = {name: item_of(before)[name] for name in ("pk", "sk")}
    one: Record = {"eventName": "MODIFY" if after else "REMOVE", "dynamodb": {"Keys": keys, **images}}

    assert reaches_the_function(one, FILTERS[told])


def test_where_statuses_are_not_told_other_tasks_cost_no_invocation() -> None:
    assert [one for one in RECORDS if reaches_the_function(one, FILTERS["questions"])] == []


@pytest.mark.parametrize("kind", ["usage", "key#1", "cancelled#1", "events#places", "events#sub#1", "change#1"])
def test_items_other_than_tasks_do_not_reach_the_function(kind: str) -> None:
    keys = {"pk": {"S": TASK.owner}, "sk": {"S": kind}}

    for one in RECORDS:
        images = {name: {**one["dynamodb"].get(name, {}), **keys} for name in ("OldImage", "NewImage")}
        assert not reaches_the_function({**one, "dynamodb": {**one["dynamodb"], **images, "Keys": keys}})


def test_the_stream_has_what_both_of_its_readers_need() -> None:
    table = resource("TasksTable").properties

    assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    readers = [one for one in resources("AWS::Lambda::EventSourceMapping") if "TasksTable" in str(one.properties)]
    assert len(readers) == 2, "DynamoDB serves at most two readers of a shard"


def test_events_that_cannot_be_published_go_to_the_queue() -> None:
    properties = stack("none", EventBus="default").properties("StatusChanges")

    assert properties["DestinationConfig"] == {"OnFailure": {"Destination": "DeadLetters.Arn"}}
    assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


# ------------------------------------------------------------------------------------ what is deployed, and may do what


def test_the_core_alone_reads_no_changes() -> None:
    assert [name for name in read_core(ROOT)["Resources"] if name.startswith("StatusChanges")] == []


OF_ANOTHER: Final = "arn:aws:events:eu-central-1:210987654321:event-bus/agents"


@pytest.mark.parametrize(
    ("bus", "arn"),
    [
        ("default", "arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default"),
        ("agents.v2", "arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/agents.v2"),
        (OF_ANOTHER, OF_ANOTHER),
    ],
)
def test_the_function_may_publish_to_the_named_bus_only(bus: str, arn: str) -> None:
    made = stack("none", EventBus=bus)

    (allowed,) = [one for one in made.statements("StatusChangesFunction") if one["Action"] == "events:PutEvents"]

    assert allowed["Resource"] == arn
    assert made.properties("StatusChangesFunction")["Environment"]["Variables"] == {
        "EVENT_BUS": bus,
        "TABLE_NAME": "TasksTable",
        **{name: value for part in IN_TEMPLATE for name, value in part.variables.items()},
    }


def test_the_function_may_query_nothing_where_the_extras_are_off() -> None:
    made = stack("none", EventBus="default", **OFF)
    allowed = [one["Action"] for one in made.statements("StatusChangesFunction")]
    actions = {action for one in allowed for action in ([one] if isinstance(one, str) else one)}

    assert actions == {
        *(action for part in IN_TEMPLATE for action in part.actions),
        "events:PutEvents",
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "sqs:SendMessage",
    }


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "EventBus",
            ["", "default", "agents.v2", OF_ANOTHER],
            ["a bus", "arn:aws:sns:eu-central-1:123456789012:topic"],
        ),
    ],
)
def test_each_parameter_accepts_valid_values_only(name: str, good: list[str], bad: list[str]) -> None:
    pattern = template()["Parameters"][name]["AllowedPattern"]

    assert [value for value in good if not re.fullmatch(pattern, value)] == []
    assert [value for value in bad if re.fullmatch(pattern, value)] == []


# ------------------------------------------------------------------------------------------------------- and no circle


@pytest.mark.parametrize("name", ["ExecutionEventsRule", "ProgressRule"])
def test_no_event_that_we_put_comes_back_to_us(name: str) -> None:
    rule = pattern_of_rule(stack("none", EventBus="default"), name)
    event = recorded("task_status_changed")

    assert not matches(rule, event)
    # The source alone must exclude our events, whatever else they contain.
    everything = {**event, "resources": sorted(resource_names()), "detail": {"status": "SUCCEEDED"}}
    assert not matches(rule, everything)


def resource_names() -> set[str]:
    return set(template()["Resources"])


# ------------------------------------------------------------------------------------------------------- what docs say


def blocks(language: str) -> list[str]:
    """Return the code blocks of the documentation in a language."""
    text = (ROOT / "docs/completion_events.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_event_in_the_documentation_is_the_sample() -> None:
    (change,) = blocks("json")

    assert json.loads(change) == recorded("task_status_changed")


def recipes() -> dict[str, Any]:
    """Return the resources of the documented listeners."""
    return {name: part for block in blocks("yaml") for name, part in yaml_parse(block).items()}


@pytest.mark.parametrize("status", sorted(ACTIONS | {"working", "removed"}))
def test_the_rules_in_the_documentation_match_our_events(status: str) -> None:
    event = recorded("task_status_changed")
    event["detail"]["status"] = status

    rules = {
        name: part["Properties"]["EventPattern"]
        for name, part in recipes().items()
        if part["Type"] == "AWS::Events::Rule"
    }

    assert {name: matches(pattern_of(rule), event) for name, rule in rules.items()} == {
        "NeedsSomebody": status in {"input_required", "failed"},
        "HasEnded": status in ACTIONS - {"input_required"},
        "NeedsAttention": status in ACTIONS,
    }
    assert all((rule["source"], rule["detail-type"]) == ([SOURCE], [STATUS_CHANGE]) for rule in rules.values())


def test_the_webhook_of_the_documentation_gets_the_event_itself_with_a_role_that_allows_nothing_else() -> None:
    made = recipes()
    (target,) = made["NeedsAttention"]["Properties"]["Targets"]
    role = made["HookRole"]["Properties"]

    (policy,) = role["Policies"]
    (allowed,) = policy["PolicyDocument"]["Statement"]
    (trusted,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert (target["InputPath"], target["RoleArn"]) == ("$.detail", {"Fn::GetAtt": ["HookRole", "Arn"]})
    assert target["Arn"] == {"Fn::GetAtt": ["Hook", "Arn"]}
    assert made["Hook"]["Properties"]["ConnectionArn"] == {"Fn::GetAtt": ["HookConnection", "Arn"]}
    assert allowed["Action"] == "events:InvokeApiDestination"
    assert allowed["Resource"] == [{"Fn::GetAtt": ["Hook", one]} for one in ("Arn", "ArnForPolicy")]
    assert trusted["Principal"] == {"Service": "events.amazonaws.com"}
    assert trusted["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_the_secret_of_the_documented_webhook_is_in_no_template() -> None:
    key = recipes()["HookConnection"]["Properties"]["AuthParameters"]["ApiKeyAuthParameters"]

    assert key == {
        "ApiKeyName": "Authorization",
        "ApiKeyValue": "{{resolve:secretsmanager:agent-hook:SecretString}}",
    }


def test_every_documented_status_is_published() -> None:
    text = (ROOT / "docs/completion_events.md").read_text(encoding="utf-8")

    named = set(re.findall(r"^\| `(\w+)` \| [^|]+ \|$", text, re.MULTILINE)) - {"status"}

    assert named == {modern_status(replace(TASK, status=status)) for status in STATUSES} | {
        why.value for why in Removal
    }
