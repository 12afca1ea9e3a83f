"""What function catalog compiles from its events, and what it logs about tools that it refuses."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.account.engine import simulated_aws
from local.account.isolation import REGION
from local.iam.clients import aws_client
from stepwire.aws.catalog_function import CatalogHandler
from stepwire.aws.registry import Parameters, TaggedStateMachines
from stepwire.aws.settings import SettingsError, read_catalog_settings
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.catalog.registration import CONSENT, Kind
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


def test_the_kind_of_a_state_machine_is_found(table: str) -> None:
    machines = TaggedStateMachines(table, (), lambda: None, lambda: aws_client("stepfunctions", REGION))

    standard = machine(table, "S")

    assert machines.kind_of(standard) is Kind.STANDARD
    assert machines.kind_of(f"{standard}:live") is Kind.STANDARD
    assert machines.kind_of(f"{standard}:1") is Kind.STANDARD
    assert machines.kind_of(f"{standard}:2") is Kind.MISSING
    assert machines.kind_of(machine(table, "E", "EXPRESS")) is Kind.EXPRESS
    assert machines.kind_of(f"{MACHINES}missing") is Kind.MISSING


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
