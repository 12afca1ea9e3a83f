"""The settings of the functions: each fault is named."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from stepwire.aws.gateway import SignIn
from stepwire.aws.settings import McpSettings, SettingsError, check_scopes, read_mcp_settings
from stepwire.catalog.access import Access
from stepwire.composition import EXTRAS
from stepwire.engine.limiter import WAITS
from stepwire.engine.upkeep import Intervals
from stepwire.protocol.sessions import ResumingClient, ResumingClients, resuming_clients
from stepwire.rendering import Identity
from stepwire.server.services import Patience
from stepwire.tasks.limiter import Limits, Places
from tests.kits import REQUIRED, TELLING, catalog_of

ENVIRONMENT = {
    "TABLE_NAME": "tasks",
    "EXECUTION_PREFIX": "swabc-",
    "STATE_MACHINES": '{"WaitAndEcho":"arn:aws:states:eu-central-1:123456789012:stateMachine:WaitAndEcho"}',
    "AUTHORIZER": "jwt",
    "PRINCIPAL_SALT": "a stack",
    "PRINCIPAL_CLAIMS": "iss,sub,org_id",
    "RESOURCE": "https://mcp.example/mcp",
    "REQUIRED_SCOPE": "tools:call",
    "ALLOWED_ORIGINS": "https://one.example,https://two.example",
    "WAIT_SECONDS": "20",
    "INLINE_WAIT_SECONDS": "2",
    "HOLD_SECONDS": "0.5",
    "REPAIR_AFTER_SECONDS": "60",
    "STATE_AFTER_SECONDS": "30",
    "CALL_SECONDS": "50",
    "PROGRESS_CALL_SECONDS": "600",
    "RESUMING_CLIENTS": "an agent, rmcp>=2.2",
    "SECRET_ARN": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:seal",
    "MOST_ACTIVE_TASKS": "100",
    "MOST_WAITING": "5",
    "MOST_TASKS_PER_MINUTE": "120",
    "POLLS_PER_SECOND": "10",
    "LAMBDA_TASK_ROOT": "/var/task",
    "TRACING": "Active",
    "SPANS": "on",
    "EXTRAS": f",{',,'.join(EXTRAS)},",
}
CONSTANT = {
    *("INLINE_WAIT_SECONDS", "HOLD_SECONDS", "CALL_SECONDS", "PROGRESS_CALL_SECONDS", "STATE_AFTER_SECONDS"),
    *("REPAIR_AFTER_SECONDS", "RESUMING_CLIENTS"),
}
"""Which no parameter of the template sets."""
ICON = "data:image/png;base64,iVBORw0KGgo="
OPTIONAL = {
    "STATE_MACHINES",
    "ALLOWED_ORIGINS",
    "RESUMING_CLIENTS",
    "PRINCIPAL_CLAIMS",
    "RESOURCE",
    "REQUIRED_SCOPE",
    "TRACING",
    "SPANS",
    "EXTRAS",
}


def test_registered_tools_are_served_unless_turned_off() -> None:
    assert read_mcp_settings(ENVIRONMENT).registered_tools
    assert not read_mcp_settings(ENVIRONMENT | {"REGISTERED_TOOLS": "off"}).registered_tools


def test_a_complete_environment_is_read() -> None:
    settings = read_mcp_settings(ENVIRONMENT)

    assert settings == McpSettings(
        table_name="tasks",
        execution_prefix="swabc-",
        state_machines={"WaitAndEcho": "arn:aws:states:eu-central-1:123456789012:stateMachine:WaitAndEcho"},
        sign_in=SignIn("a stack", claims=("iss", "sub", "org_id")),
        access=Access(("tools:call",), metadata_url="https://mcp.example/.well-known/oauth-protected-resource/mcp"),
        allowed_origins=frozenset({"https://one.example", "https://two.example"}),
        patience=Patience(
            timedelta(seconds=20),
            timedelta(seconds=4),
            timedelta(seconds=2),
            timedelta(seconds=0.5),
            timedelta(seconds=50),
            timedelta(minutes=10),
        ),
        intervals=Intervals(timedelta(seconds=60), timedelta(seconds=30)),
        resuming=ResumingClients((ResumingClient("an agent"), ResumingClient("rmcp", (2, 2)))),
        registered_tools=True,
        limits=Limits(active=100, per_minute=120),
        polls_per_second=10,
        polls_per_log_line=20,
        waits=Places.shared(5),
        secret_arn="arn:aws:secretsmanager:eu-central-1:123456789012:secret:seal",
        catalog=Path("/var/task/catalog.json"),
        extras=tuple(EXTRAS),
        identity=Identity(),
        x_ray=True,
        spans=True,
    )


def test_an_extra_that_the_release_does_not_have_is_refused() -> None:
    with pytest.raises(SettingsError, match="EXTRAS names no_such_extra; there are: "):
        read_mcp_settings(ENVIRONMENT | {"EXTRAS": ",no_such_extra"})


def test_the_endpoint_is_shown_to_people_as_its_operator_says() -> None:
    shown = {"ENDPOINT_TITLE": "Acme\u202e flows", "WEBSITE_URL": "https://acme.example/a", "ENDPOINT_ICON": ICON}

    identity = read_mcp_settings(ENVIRONMENT | shown).identity

    assert identity == Identity("Acme\\u202e flows", "https://acme.example/a", ICON)


@pytest.mark.parametrize(
    "icon", ["javascript:alert(1)", "http://acme.example/a.png", "data:text/html;base64,AA==", "x" * 5000, f"{ICON}\n"]
)
def test_an_icon_that_no_client_may_show_is_refused(icon: str) -> None:
    with pytest.raises(SettingsError, match="ENDPOINT_ICON must be an https URL, or an image as data:"):
        read_mcp_settings(ENVIRONMENT | {"ENDPOINT_ICON": icon})


@pytest.mark.parametrize("name", sorted(set(ENVIRONMENT) - OPTIONAL - CONSTANT))
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_missing_variable_is_named(name: str, how: str) -> None:
    environment = dict(ENVIRONMENT)
    del environment[name]
    if how == "empty":
        environment[name] = ""

    with pytest.raises(SettingsError, match=f"The environment variable {name} is missing"):
        read_mcp_settings(environment)


@pytest.mark.parametrize("name", [name for name in ENVIRONMENT if name.endswith("_SECONDS")])
@pytest.mark.parametrize("value", ["soon", "nan", "inf", "-inf", "1e300", "-1", "20s"])
def test_an_invalid_duration_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} must be a number of seconds"):
        read_mcp_settings(ENVIRONMENT | {name: value})


@pytest.mark.parametrize("value", ["WaitAndEcho", "[]", '"x"', "{", '{"A":1}', '{"A":null}', '{"A":"x","A":"y"}'])
def test_invalid_names_of_state_machines_are_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="STATE_MACHINES must be a JSON object of names and ARNs"):
        read_mcp_settings(ENVIRONMENT | {"STATE_MACHINES": value})


@pytest.mark.parametrize("origins", [{}, {"ALLOWED_ORIGINS": ""}])
def test_without_allowed_origins_no_web_page_may_call(origins: dict[str, str]) -> None:
    """M2, L5."""
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "ALLOWED_ORIGINS"} | origins

    assert read_mcp_settings(environment).allowed_origins == frozenset()


@pytest.mark.parametrize(
    ("authorizer", "is_open"), [("jwt", False), ("cognito", False), ("iam", False), ("nonsense", False), ("none", True)]
)
def test_a_stack_is_open_only_if_configured_explicitly(authorizer: str, *, is_open: bool) -> None:
    """M4, T21: and then tasks are not listed, because all callers share one principal."""
    settings = read_mcp_settings(ENVIRONMENT | {"AUTHORIZER": authorizer})

    assert (settings.sign_in.is_open, settings.access.knows_callers) == (is_open, not is_open)


def test_programs_are_told_that_they_get_tokens_only_where_the_stack_says_so() -> None:
    assert not read_mcp_settings(ENVIRONMENT).access.takes_programs
    assert read_mcp_settings(ENVIRONMENT | {"CLIENT_CREDENTIALS": "on"}).access.takes_programs


PROTECTED = catalog_of(TELLING, replace(REQUIRED, name="refund", scopes=("refunds",)))


@pytest.mark.parametrize("authorizer", ["iam", "none", "nonsense"])
def test_unchecked_scopes_prevent_the_start_and_the_tools_are_named(authorizer: str) -> None:
    environment = ENVIRONMENT | {"AUTHORIZER": authorizer, "REQUIRED_SCOPE": ""}

    with pytest.raises(
        SettingsError, match=rf"Authorizer={authorizer} has no scopes.*the tool refund\. .*remove the scopes"
    ):
        check_scopes(environment, read_mcp_settings(environment).access, PROTECTED)


def test_an_unchecked_required_scope_prevents_the_start_too() -> None:
    environment = ENVIRONMENT | {"AUTHORIZER": "iam"}

    with pytest.raises(SettingsError, match="every request"):
        check_scopes(environment, read_mcp_settings(environment).access, catalog_of(TELLING))


@pytest.mark.parametrize("environment", [ENVIRONMENT, ENVIRONMENT | {"AUTHORIZER": "cognito"}])
def test_checked_scopes_do_not_prevent_the_start(environment: dict[str, str]) -> None:
    check_scopes(environment, read_mcp_settings(environment).access, PROTECTED)


@pytest.mark.parametrize(("authorizer", "reserved"), [("jwt", 2), ("cognito", 2), ("iam", 2), ("none", 0)])
def test_places_are_reserved_for_other_callers_where_there_are_some(authorizer: str, reserved: int) -> None:
    assert read_mcp_settings(ENVIRONMENT | {"AUTHORIZER": authorizer}).waits == Places(5, reserved)


def test_what_no_parameter_sets_has_a_default() -> None:
    settings = read_mcp_settings({name: value for name, value in ENVIRONMENT.items() if name not in CONSTANT})

    assert settings.patience == replace(Patience(), unresumable_request=timedelta(seconds=20))
    assert settings.intervals == Intervals()
    assert settings.waits == WAITS
    assert settings.resuming == resuming_clients(("known",))


def test_scopes_of_cognito_are_named_after_the_endpoint() -> None:
    assert read_mcp_settings(ENVIRONMENT | {"AUTHORIZER": "cognito"}).access.prefix == "https://mcp.example/mcp/"


def test_a_caller_is_identified_by_issuer_and_subject_by_default() -> None:
    assert read_mcp_settings(ENVIRONMENT | {"PRINCIPAL_CLAIMS": ""}).sign_in.claims == ("iss", "sub")


@pytest.mark.parametrize("prefix", ["sw", "SW-", "sw-a-", "-", "a-name-that-is-long-", "swé-", "sw_-", "sw-\n"])
def test_an_execution_prefix_that_other_names_could_start_with_is_refused(prefix: str) -> None:
    with pytest.raises(SettingsError, match="EXECUTION_PREFIX must be 1 to 11 lower-case letters and digits"):
        read_mcp_settings({**ENVIRONMENT, "EXECUTION_PREFIX": prefix})
