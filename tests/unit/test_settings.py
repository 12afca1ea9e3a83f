"""The settings of the functions: each fault is named."""

from datetime import timedelta
from pathlib import Path

import pytest

from stepwire.aws.settings import McpSettings, SettingsError, read_mcp_settings, read_table_name

ENVIRONMENT = {
    "TABLE_NAME": "tasks",
    "STATE_MACHINES": '{"WaitAndEcho":"arn:aws:states:eu-central-1:123456789012:stateMachine:WaitAndEcho"}',
    "AUTHORIZER": "jwt",
    "PRINCIPAL_SALT": "a stack",
    "ALLOWED_ORIGINS": "https://one.example,https://two.example",
    "WAIT_SECONDS": "20",
    "REPAIR_AFTER_SECONDS": "60",
    "LAMBDA_TASK_ROOT": "/var/task",
}


def test_a_whole_environment_is_read() -> None:
    settings = read_mcp_settings(ENVIRONMENT)

    assert settings == McpSettings(
        table_name="tasks",
        state_machines={"WaitAndEcho": "arn:aws:states:eu-central-1:123456789012:stateMachine:WaitAndEcho"},
        needs_sign_in=True,
        principal_salt="a stack",
        allowed_origins=frozenset({"https://one.example", "https://two.example"}),
        wait=timedelta(seconds=20),
        repair_after=timedelta(seconds=60),
        catalog=Path("/var/task/catalog.json"),
    )


@pytest.mark.parametrize("name", sorted(set(ENVIRONMENT) - {"ALLOWED_ORIGINS"}))
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_variable_that_is_not_there_is_named(name: str, how: str) -> None:
    environment = dict(ENVIRONMENT)
    del environment[name]
    if how == "empty":
        environment[name] = ""

    with pytest.raises(SettingsError, match=f"The environment variable {name} is missing"):
        read_mcp_settings(environment)


@pytest.mark.parametrize("name", ["WAIT_SECONDS", "REPAIR_AFTER_SECONDS"])
@pytest.mark.parametrize("value", ["soon", "nan", "inf", "-inf", "1e300", "-1", "20s"])
def test_what_is_no_duration_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} must be a number of seconds"):
        read_mcp_settings(ENVIRONMENT | {name: value})


@pytest.mark.parametrize("value", ["WaitAndEcho", "[]", '"x"', "{", '{"A":1}', '{"A":null}', '{"A":"x","A":"y"}'])
def test_what_are_no_names_of_state_machines_is_named(value: str) -> None:
    with pytest.raises(SettingsError, match="STATE_MACHINES must be a JSON object of names and ARNs"):
        read_mcp_settings(ENVIRONMENT | {"STATE_MACHINES": value})


@pytest.mark.parametrize("origins", [{}, {"ALLOWED_ORIGINS": ""}])
def test_without_allowed_origins_no_web_page_may_call(origins: dict[str, str]) -> None:
    """M2, L5."""
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "ALLOWED_ORIGINS"} | origins

    assert read_mcp_settings(environment).allowed_origins == frozenset()


@pytest.mark.parametrize(
    ("authorizer", "needs_sign_in"), [("jwt", True), ("iam", True), ("nonsense", True), ("none", False)]
)
def test_only_a_stack_that_asks_for_it_by_name_needs_no_sign_in(authorizer: str, *, needs_sign_in: bool) -> None:
    """M4."""
    assert read_mcp_settings(ENVIRONMENT | {"AUTHORIZER": authorizer}).needs_sign_in == needs_sign_in


def test_the_table_is_all_that_the_other_function_needs() -> None:
    assert read_table_name({"TABLE_NAME": "tasks"}) == "tasks"
