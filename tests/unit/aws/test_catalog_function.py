"""What function catalog compiles from its events, and what it logs about tools that it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from benchmarks.cost.calls import COMPILE
from local.account.engine import simulated_aws
from local.account.isolation import REGION
from local.iam.clients import aws_client
from stepwire.aws.catalog_function import CatalogHandler
from stepwire.aws.registry import Parameters, TaggedStateMachines
from stepwire.aws.settings import SettingsError, read_catalog_settings
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.catalog.examination import Kind
from stepwire.catalog.registration import CONSENT
from stepwire.errors import CatalogError, WorkflowsThrottled, WorkflowsUnavailable
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
        "STATE_MACHINE_PREFIX": MACHINES + f"{table}-",
        "STATE_MACHINE_ARNS": "",
        "POWERTOOLS_SERVICE_NAME": table,  # a separate logger, whose output this test reads
    }


def machine(table: str, name: str, kind: str = "STANDARD", endpoint: str = "") -> str:
    made = aws_client("stepfunctions", REGION).create_state_machine(
        name=f"{table}-{name}",
        definition=DEFINITION,
        roleArn="arn:aws:iam::123456789012:role/none",
        type=kind,
        publish=True,
        tags=[{"key": CONSENT, "value": endpoint}] if endpoint else [],
    )
    return made["stateMachineArn"]


def register(table: str, name: str) -> str:
    manifest = {"name": name, "description": "x", "state_machine": "M", "input_schema": {"type": "object"}}
    path = f"/stepwire/{table}/tools/{name}"
    aws_client("ssm", REGION).put_parameter(Name=path, Value=json.dumps(manifest), Type="String")
    return path


def published(table: str) -> list[str]:
    return sorted(DynamoDbCatalog(table, lambda: aws_client("dynamodb", REGION)).load()[1])


def compile_at(event: Any) -> None:
    CatalogHandler()(event, None)


def test_all_that_is_registered_is_compiled_page_by_page(table: str) -> None:
    machine(table, "M", endpoint=table)
    names = [f"tool_{number:02}" for number in range(23)]
    for name in names:
        register(table, name)

    compile_at(SCHEDULED)

    assert published(table) == names


def test_where_no_tool_is_registered_the_schedule_makes_four_calls(table: str) -> None:
    calls = AwsCalls()
    compile_at(SCHEDULED)

    with calls.of_handlers():
        compile_at(SCHEDULED)

    assert sorted([*calls.catalog_reads, *calls.made]) == sorted(COMPILE)


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

    compile_at({"detail-type": "Parameter Store Change", "detail": {"name": path, "operation": "Delete"}})

    assert published(table) == []


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
    )

    consenting = {name for name, arn in arns.items() if machines.has_consent(arn)}

    assert consenting == {"billing-a", "billing-b", "tagged"}
    assert not machines.has_consent(f"{MACHINES}missing")


def examiner(table: str) -> TaggedStateMachines:
    return TaggedStateMachines(table, (), lambda: None, lambda: aws_client("stepfunctions", REGION))


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
        return TaggedStateMachines("mine", (), lambda: None, lambda: cast(Any, self))


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

    (found,) = Parameters(f"/stepwire/{table}/tools/", lambda: aws_client("ssm", REGION)).registered()

    assert found.tool == "secret"
    assert "SecureString" in found.text


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(SettingsError, match="ENDPOINT_NAME is missing"):
        read_catalog_settings({**environment("t"), "ENDPOINT_NAME": ""})


@pytest.mark.parametrize(
    ("authorizer", "unchecked", "checks"), [("jwt", "", True), ("iam", "", False), ("iam", "allow", True)]
)
def test_tools_with_scopes_are_registered_only_if_scopes_are_checked_or_deliberately_unchecked(
    authorizer: str, unchecked: str, checks: bool
) -> None:
    settings = read_catalog_settings({**environment("t"), "AUTHORIZER": authorizer, "UNCHECKED_SCOPES": unchecked})

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
