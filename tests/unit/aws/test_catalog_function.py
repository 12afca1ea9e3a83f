"""What function catalog compiles from its events, and what it logs about tools that it refuses."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import replace

from benchmarks.cost.calls import COMPILE
from stepwire.aws.catalog_function import (
    MOST_READS,
    CatalogHandler,
    KnownTags,
    Parameters,
    TaggedStateMachines,
    read_catalog_settings,
)
from stepwire.aws.settings import SettingsError
from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire.composition import EXTRAS
from stepwire.errors import CatalogError, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.manifests.registration import CONSENT, Kind, OutOfBudget
from stepwire_local.account.engine import simulated_aws
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.fakes import FixedClock
from tests.integration.stacks import AwsCalls
from tests.tables import new_table

DEFINITION = '{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}'
MACHINES = f"arn:aws:states:{REGION}:123456789012:stateMachine:"
SCHEDULED = {"detail-type": "Scheduled Event"}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with simulated_aws():
        table = new_table()
        for name, value in environment(table).items():
            monkeypatch.setenv(name, value)
        yield table


def environment(table: str) -> dict[str, str]:
    return {
        "TABLE_NAME": table,
        "ENDPOINT_NAME": table,
        "AUTHORIZER": "none",
        "EXTRAS": ",".join(EXTRAS),
        "STATE_MACHINE_PREFIX": MACHINES + f"{table}-",
        "STATE_MACHINE_ARNS": "",
        "POWERTOOLS_SERVICE_NAME": table,  # a separate logger, whose output this test reads
    }


def machine(table: str, name: str, kind: str = "STANDARD", endpoint: str = "", definition: str = DEFINITION) -> str:
    made = aws_client("stepfunctions", REGION).create_state_machine(
        name=f"{table}-{name}",
        definition=definition,
        roleArn="arn:aws:iam::123456789012:role/none",
        type=kind,
        publish=True,
        tags=[{"key": CONSENT, "value": endpoint}] if endpoint else [],
    )
    return made["stateMachineArn"]


def register(table: str, name: str, **more: Any) -> str:
    manifest = {"name": name, "description": "x", "state_machine": "M", "input_schema": {"type": "object"}, **more}
    path = f"/stepwire/{table}/tools/{name}"
    aws_client("ssm", REGION).put_parameter(Name=path, Value=json.dumps(manifest), Type="String")
    return path


def published(table: str) -> list[str]:
    return sorted(DynamoDbPublisher(Table(table, lambda: aws_client("dynamodb", REGION))).load()[1])


def deletion(path: str, at: datetime) -> dict[str, Any]:
    """Return the event, whose time has whole seconds."""
    time = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    return {"detail-type": "Parameter Store Change", "time": time, "detail": {"name": path, "operation": "Delete"}}


def compile_at(event: Any) -> None:
    CatalogHandler()(event, None)


def test_all_that_is_registered_is_compiled_page_by_page(table: str) -> None:
    machine(table, "M", endpoint=table)
    names = [f"tool_{number:02}" for number in range(23)]
    for name in names:
        register(table, name)

    compile_at(SCHEDULED)

    assert published(table) == names


def test_where_no_tool_is_registered_the_schedule_makes_five_calls(table: str) -> None:
    calls = AwsCalls()
    compile_at(SCHEDULED)

    with calls.of_handlers():
        compile_at(SCHEDULED)

    assert sorted([*calls.catalog_reads, *calls.made]) == sorted(COMPILE)


@pytest.mark.parametrize("has_machine", [True, False])
def test_of_two_runs_at_the_same_time_the_one_that_read_later_decides(table: str, *, has_machine: bool) -> None:
    """The older one has read a manifest that is deleted since; the younger one finds all as it was published."""
    clock = FixedClock()
    CatalogHandler(clock.now)(SCHEDULED, None)
    machine(table, "M", endpoint=table if has_machine else "")
    path, reads = register(table, "brief"), count()

    def now() -> datetime:
        clock.advance(seconds=1)
        if next(reads) == 1:  # it has read the manifest
            aws_client("ssm", REGION).delete_parameter(Name=path)
            CatalogHandler(clock.now)(SCHEDULED, None)
        return clock.now()

    CatalogHandler(now)(SCHEDULED, None)

    assert published(table) == []
    assert DynamoDbPublisher(Table(table, lambda: aws_client("dynamodb", REGION))).earlier().refused == ()


def test_a_refused_tool_is_a_line_in_the_log_and_a_number_in_the_metric(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = register(table, "lonely")

    compile_at(SCHEDULED)

    refused, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (refused["message"], refused["tool"]) == ("a registered tool is refused", "lonely")
    assert refused["parameter"] == path
    assert f"with the tag stepwire:endpoint={table}" in refused["reason"]
    assert refused["serves_previous"] is False
    assert (summary["message"], summary["tools"], summary["refused"]) == ("the catalog was compiled", 0, 1)


def test_a_deleted_parameter_is_ignored_even_if_the_list_still_has_it(table: str) -> None:
    machine(table, "M", endpoint=table)
    path = register(table, "gone")
    compile_at(SCHEDULED)

    compile_at(deletion(path, datetime.now(UTC) + timedelta(seconds=1)))

    assert published(table) == []


def test_a_parameter_that_is_written_again_is_served_although_the_event_of_its_deletion_comes_last(table: str) -> None:
    machine(table, "M", endpoint=table)
    path = register(table, "orders")
    compile_at(SCHEDULED)
    aws_client("ssm", REGION).delete_parameter(Name=path)
    deleted = deletion(path, datetime.now(UTC))

    register(table, "orders", description="New.")
    compile_at(deleted)

    assert published(table) == ["orders"]


@pytest.mark.parametrize("tags", [{}, {"stepwire:endpoint": "other"}, {"a": "b"}])
def test_a_removed_tag_is_ignored_even_if_the_list_still_has_it(table: str, tags: dict[str, str]) -> None:
    arn = machine(table, "M", endpoint=table)
    register(table, "tool")
    compile_at(SCHEDULED)
    assert published(table) == ["tool"]

    compile_at({"detail-type": "Tag Change on Resource", "resources": [arn], "detail": {"tags": tags}})

    assert published(table) == []


def test_consent_is_a_tag_or_a_name_that_the_endpoint_s_stack_allows(table: str) -> None:
    arns = {name: machine(table, name) for name in ("billing-a", "billing-b", "other")}
    arns["tagged"] = machine(table, "tagged", endpoint=table)
    arns["foreign"] = machine(table, "foreign", endpoint="another")
    machines = TaggedStateMachines(
        table,
        (f"{MACHINES}{table}-billing-*",),
        lambda: aws_client("resourcegroupstaggingapi", REGION),
        lambda: aws_client("stepfunctions", REGION),
        KnownTags(FixedClock().now),
    )

    consenting = {name for name, arn in arns.items() if machines.tags_of(arn).get(CONSENT) == table}

    assert consenting == {"billing-a", "billing-b", "tagged"}
    assert machines.tags_of(f"{MACHINES}missing") == {}


class Tags:
    """A client of state machines with tags, which counts how often each one's are read."""

    def __init__(self, **tags: str) -> None:
        self.tags, self.read = tags, list[str]()

    def list_tags_for_resource(self, *, resourceArn: str) -> dict[str, list[dict[str, str]]]:  # noqa: N803
        self.read.append(resourceArn)
        return {"tags": [{"key": key, "value": value} for key, value in self.tags.items()]}

    def get_paginator(self, _name: str) -> Any:
        return self

    def paginate(self, **_: Any) -> list[dict[str, list[Any]]]:
        return [{"ResourceTagMappingList": []}]

    def run(self, known: KnownTags, **changed: dict[str, str]) -> TaggedStateMachines:
        """Return the state machines as one run sees them: none is in the list of tags."""
        return TaggedStateMachines("mine", (), lambda: self, lambda: cast(Any, self), known, changed)


def tags_read_in(run: TaggedStateMachines, arns: list[str], *, serves: bool = False) -> None:
    for arn in arns:
        with suppress(OutOfBudget):
            run.tags_of(arn, serves=serves)


def test_the_tags_of_a_machine_are_read_once_an_hour_and_of_few_machines_in_one_run() -> None:
    clock, client = FixedClock(), Tags()
    known, arns = KnownTags(clock.now), [f"{MACHINES}{number}" for number in range(300)]

    per_run = list[int]()
    for _ in range(8):
        before = len(client.read)
        tags_read_in(client.run(known), arns)
        per_run.append(len(client.read) - before)

    assert per_run == [MOST_READS] * 6 + [0, 0]
    assert sorted(client.read) == sorted(arns), "900 calls for three events once"
    clock.time += timedelta(hours=1)
    tags_read_in(client.run(known), arns[:1])
    assert len(client.read) == 301


def test_a_tool_that_serves_is_taken_away_by_the_tags_themselves() -> None:
    client = Tags()
    known = KnownTags(FixedClock().now)
    tags_read_in(client.run(known), ["arn"])

    tags_read_in(client.run(known), ["arn"], serves=True)

    assert client.read == ["arn", "arn"]


def test_the_scheduled_run_believes_no_consent_of_before() -> None:
    client, known = Tags(), KnownTags(FixedClock().now)
    client.run(known, arn={CONSENT: "mine"}).tags_of("arn")

    tags = replace(client.run(known), trusts_events=False).tags_of("arn")

    assert CONSENT not in tags
    assert client.read == ["arn"]


def test_tags_that_an_event_brings_are_known_in_the_next_run_too() -> None:
    client, known = Tags(), KnownTags(FixedClock().now)

    client.run(known, arn={CONSENT: "mine"}).tags_of("arn")

    assert client.run(known).tags_of("arn", serves=True) == {CONSENT: "mine"}
    assert client.read == []


def test_owners_are_known_by_who_wrote_their_parameters() -> None:
    session = "arn:aws:sts::123456789012:assumed-role/team-a/some-session"
    user = "arn:aws:iam::123456789012:user/b"

    class Written(Tags):
        def paginate(self, **_: Any) -> Any:
            return [
                {"Parameters": [{"Name": "/a", "LastModifiedUser": session}]},
                {"Parameters": [{"Name": "/b", "LastModifiedUser": user}, {"Name": "/c"}]},
            ]

    class Denied(Tags):
        def paginate(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "DescribeParameters")

    assert Parameters("/", Written).owners() == {"/a": session.rpartition("/")[0], "/b": user, "/c": ""}
    assert Parameters("/", Denied).owners() == {}


class Invocation:
    """A Lambda context whose time passes: some seconds each time that it is asked for the rest."""

    def __init__(self, seconds: float, step: float) -> None:
        self.left, self.step = seconds, step

    def get_remaining_time_in_millis(self) -> int:
        self.left -= self.step
        return int(self.left * 1_000)


def test_an_invocation_publishes_what_it_has_time_for_and_the_next_one_the_rest(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(table, "M", endpoint=table)
    names = [f"tool_{number:02}" for number in range(12)]
    for name in names:
        register(table, name)

    CatalogHandler()(SCHEDULED, Invocation(seconds=120, step=10))
    first = published(table)
    CatalogHandler()({}, Invocation(seconds=120, step=10))

    assert first == names[:8], "30 seconds are for writing it"
    assert published(table) == names
    assert '"waiting":4' in capsys.readouterr().out.replace(" ", "")


def examiner(table: str) -> TaggedStateMachines:
    known = KnownTags(FixedClock().now)
    return TaggedStateMachines(table, (), lambda: None, lambda: aws_client("stepfunctions", REGION), known)


def with_alias(version: str, name: str = "live") -> str:
    made = aws_client("stepfunctions", REGION).create_state_machine_alias(
        name=name, routingConfiguration=[{"stateMachineVersionArn": version, "weight": 100}]
    )
    return made["stateMachineAliasArn"]


def test_a_state_machine_a_version_and_an_alias_are_examined(table: str) -> None:
    standard = machine(table, "S")
    alias, express = with_alias(f"{standard}:1"), machine(table, "E", "EXPRESS")

    kinds = [examiner(table).examine(arn).kind for arn in (standard, f"{standard}:1", alias, express)]

    assert kinds == [Kind.STANDARD, Kind.STANDARD, Kind.STANDARD, Kind.EXPRESS]
    assert examiner(table).examine(alias).definition == DEFINITION


@pytest.mark.parametrize(
    ("qualifier", "words"),
    [("missing", "there is no {arn}"), ("S:2", "there is no 2 of"), ("S:stable", "there is no stable of")],
)
def test_what_is_not_there_is_named(table: str, qualifier: str, words: str) -> None:
    machine(table, "S")
    arn = f"{MACHINES}{table}-{qualifier}"

    with pytest.raises(CatalogError, match=words.format(arn=arn)):
        examiner(table).examine(arn)


class Denying:
    """A client that gives the same answer to every description."""

    def __init__(self, code: str, only: str = "") -> None:
        self.code, self.only, self.asked = code, only, list[str]()

    def describe_state_machine(self, *, stateMachineArn: str) -> dict[str, str]:  # noqa: N803
        self.asked.append(stateMachineArn)
        if stateMachineArn.endswith(self.only):
            raise ClientError({"Error": {"Code": self.code, "Message": "AWS's own words"}}, "DescribeStateMachine")
        return {"type": "STANDARD", "definition": DEFINITION, "status": "ACTIVE"}

    def machines(self) -> TaggedStateMachines:
        return TaggedStateMachines("mine", (), lambda: None, lambda: cast(Any, self), KnownTags(FixedClock().now))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "may not be described by the endpoint"),
        ("KmsAccessDeniedException", "adds the key to StateMachineKeyArns"),
        ("KmsInvalidStateException", "a key that is disabled"),
    ],
)
def test_a_refusal_says_who_can_mend_it(code: str, words: str) -> None:
    with pytest.raises(CatalogError, match=words) as fault:
        Denying(code).machines().examine(f"{MACHINES}S")

    assert "AWS's own words" not in str(fault.value)


@pytest.mark.parametrize("code", ["ThrottlingException", "KmsThrottlingException"])
def test_a_throttled_description_may_be_repeated(code: str) -> None:
    with pytest.raises(WorkflowsThrottled):
        Denying(code).machines().examine(f"{MACHINES}S")


def test_an_unknown_refusal_may_be_repeated() -> None:
    with pytest.raises(WorkflowsUnavailable):
        Denying("InternalFailure").machines().examine(f"{MACHINES}S")


def test_a_version_that_may_not_be_described_is_examined_by_its_state_machine() -> None:
    client = Denying("AccessDeniedException", only=":1")

    assert client.machines().examine(f"{MACHINES}S:1").kind is Kind.STANDARD
    assert client.asked == [f"{MACHINES}S:1", f"{MACHINES}S"]


def test_an_encrypted_parameter_is_not_read(table: str) -> None:
    aws_client("ssm", REGION).put_parameter(Name=f"/stepwire/{table}/tools/secret", Value="x", Type="SecureString")

    (found,), _ = Parameters(f"/stepwire/{table}/tools/", lambda: aws_client("ssm", REGION)).registered()

    assert found.tool == "secret"
    assert "SecureString" in found.text


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(SettingsError, match="ENDPOINT_NAME is missing"):
        read_catalog_settings({**environment("t"), "ENDPOINT_NAME": ""})


@pytest.mark.parametrize(("authorizer", "checks"), [("jwt", True), ("cognito", True), ("iam", False)])
def test_tools_with_scopes_are_registered_only_if_scopes_are_checked(authorizer: str, checks: bool) -> None:
    settings = read_catalog_settings({**environment("t"), "AUTHORIZER": authorizer})

    assert settings.endpoint.checks_scopes is checks


def test_the_owner_of_a_tool_that_the_release_has_too_is_told(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(table, "M", endpoint=table)
    (tmp_path / "release_tools.json").write_text('{"settle": "functions/mcp/tools/settle.yaml"}', encoding="utf-8")
    monkeypatch.setenv("LAMBDA_TASK_ROOT", str(tmp_path))
    register(table, "settle")
    register(table, "other")

    compile_at(SCHEDULED)

    refused, summary = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (refused["tool"], refused["serves_previous"]) == ("settle", False)
    assert "is a tool of the endpoint's own release (functions/mcp/tools/settle.yaml)" in refused["reason"]
    assert summary["refused"] == 1, "the metric RefusedTools"
    key = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}
    item = aws_client("dynamodb", REGION).get_item(TableName=table, Key=key)["Item"]
    assert [one["tool"] for one in json.loads(item["refused"]["S"])["refused"]] == ["settle"]
    assert published(table) == ["other"]
