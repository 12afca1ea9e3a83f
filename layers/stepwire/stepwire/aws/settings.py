"""The settings of the functions: environment variables, read once and validated.

The template sets what an operator decides. A variable with a default is a constant to operators, and its reason stands
beside the default; tests and copies of the template set it (docs/deploying.md).
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from stepwire.aws.gateway import ISSUER_AND_SUBJECT, SignIn
from stepwire.catalog.access import Access
from stepwire.catalog.tools import ICON_PATTERN, Catalog
from stepwire.composition import EXTRAS
from stepwire.engine.upkeep import Intervals
from stepwire.errors import StepwireError
from stepwire.json_text import JsonTextError, is_object, parse
from stepwire.protocol.sessions import ResumingClients, resuming_clients
from stepwire.rendering import Identity
from stepwire.server.services import Patience
from stepwire.tasks.ids import execution_prefix_of
from stepwire.tasks.limiter import Limits, Places
from stepwire.visible_text import visible

# The authorizers whose tokens have scopes.
WITH_SCOPES = ("jwt", "cognito")

# Nearly all requests are polls: with 20 a line, their lines are a tenth of the bytes that a task logs (docs/cost.md).
_POLLS_PER_LOG_LINE = "20"
# Those that were seen to resume (docs/clients.md); others say so in the URL.
_RESUMING_CLIENTS = "known"

_TOO_MANY_SECONDS = timedelta.max.total_seconds()
# Set by Lambda itself.
TASK_ROOT = "LAMBDA_TASK_ROOT"


class SettingsError(StepwireError):
    """An environment variable is missing or wrong; the message names it."""


class McpSettings(Struct, frozen=True):
    """The settings of function mcp."""

    table_name: str
    execution_prefix: str
    """Start of the names of executions."""
    state_machines: Mapping[str, str]
    """The ARNs of the state machines, by the names that manifests use."""
    sign_in: SignIn
    access: Access
    allowed_origins: frozenset[str]
    patience: Patience
    intervals: Intervals
    resuming: ResumingClients
    registered_tools: bool
    """Whether tools that other stacks register are served."""
    limits: Limits
    polls_per_second: float
    polls_per_log_line: int
    """Polls that one line of the audit counts."""
    waits: Places
    secret_arn: str
    """ARN of the secret that authenticates state held by clients."""
    catalog: Path
    extras: tuple[str, ...]
    """Names of the extras that are on."""
    identity: Identity
    x_ray: bool
    """Whether AWS X-Ray traces the function, so that a request without a trace of its own belongs to that one."""
    spans: bool
    """Whether requests are written to the log as spans."""


def read_mcp_settings(environment: Mapping[str, str]) -> McpSettings:
    """Read the settings of function mcp.

    Raises:
        SettingsError: a setting is missing or not valid.
    """
    is_open = required(environment, "AUTHORIZER") == "none"
    return McpSettings(
        table_name=required(environment, "TABLE_NAME"),
        execution_prefix=_execution_prefix(environment),
        state_machines=_names(environment, "STATE_MACHINES"),
        sign_in=SignIn(
            salt=required(environment, "PRINCIPAL_SALT"),
            is_open=is_open,
            claims=read_list(environment, "PRINCIPAL_CLAIMS") or ISSUER_AND_SUBJECT,
        ),
        access=_access(environment, is_open=is_open),
        allowed_origins=frozenset(read_list(environment, "ALLOWED_ORIGINS")),
        patience=_patience(environment),
        intervals=Intervals(
            repair=_seconds(environment, "REPAIR_AFTER_SECONDS", Intervals().repair),
            state=_seconds(environment, "STATE_AFTER_SECONDS", Intervals().state),
        ),
        resuming=_resuming(environment),
        registered_tools=environment.get("REGISTERED_TOOLS") != "off",
        limits=read_usage_limits(environment),
        polls_per_second=_number(environment, "POLLS_PER_SECOND"),
        polls_per_log_line=_count({"POLLS_PER_LOG_LINE": _POLLS_PER_LOG_LINE, **environment}, "POLLS_PER_LOG_LINE"),
        waits=_waits(environment, is_open=is_open),
        secret_arn=required(environment, "SECRET_ARN"),
        catalog=catalog_file(environment),
        extras=read_extras(environment),
        identity=read_identity(environment),
        x_ray=environment.get("TRACING") == "Active",
        spans=is_on(environment, "SPANS"),
    )


def catalog_file(environment: Mapping[str, str]) -> Path:
    """Return where the build has put the release's tools.

    Raises:
        SettingsError: Lambda's own variable is missing.
    """
    return Path(required(environment, TASK_ROOT)) / "catalog.json"


def _execution_prefix(environment: Mapping[str, str]) -> str:
    prefix = execution_prefix_of(required(environment, "EXECUTION_PREFIX"))
    if prefix is None:
        raise SettingsError(
            "The environment variable EXECUTION_PREFIX must be 1 to 11 lower-case letters and digits, and a hyphen."
        )
    return prefix


def _access(environment: Mapping[str, str], *, is_open: bool) -> Access:
    resource = environment.get("RESOURCE", "")
    url = urlsplit(resource)  # RFC 9728 puts the path of metadata between host and path
    metadata_url = f"{url.scheme}://{url.netloc}/.well-known/oauth-protected-resource{url.path}"
    return Access(
        required=read_list(environment, "REQUIRED_SCOPE"),
        # Cognito prefixes scopes with the resource's identifier.
        prefix=f"{resource}/" if environment["AUTHORIZER"] == "cognito" else "",
        metadata_url=metadata_url if resource else "",
        knows_callers=not is_open,
        takes_programs=is_on(environment, "CLIENT_CREDENTIALS"),
    )


def _patience(environment: Mapping[str, str]) -> Patience:
    usual = Patience()
    return Patience(
        unresumable_request=_seconds(environment, "WAIT_SECONDS"),
        first_request=_seconds(environment, "INLINE_WAIT_SECONDS", usual.first_request),
        resuming_request=_seconds(environment, "HOLD_SECONDS", usual.resuming_request),
        whole_call=_seconds(environment, "CALL_SECONDS", usual.whole_call),
        whole_call_with_progress=_seconds(environment, "PROGRESS_CALL_SECONDS", usual.whole_call_with_progress),
    )


def read_identity(environment: Mapping[str, str]) -> Identity:
    """Return how hosts show the endpoint; the template checks the title and the website."""
    icon = environment.get("ENDPOINT_ICON", "")
    if icon and not re.fullmatch(ICON_PATTERN, icon):
        raise SettingsError(
            "The environment variable ENDPOINT_ICON must be an https URL, or an image as data:image/png;base64,... "
            "(also jpeg, webp and svg+xml)."
        )
    title = environment.get("ENDPOINT_TITLE") or Identity().title
    return Identity(visible(title), environment.get("WEBSITE_URL", ""), icon)


def _resuming(environment: Mapping[str, str]) -> ResumingClients:
    try:
        return resuming_clients(read_list({"RESUMING_CLIENTS": _RESUMING_CLIENTS, **environment}, "RESUMING_CLIENTS"))
    except ValueError as error:
        raise SettingsError(
            f"The environment variable RESUMING_CLIENTS must list names of clients, such as known, my-agent or "
            f"rmcp>=2.2.0; {str(error)!r} is none."
        ) from None


def _waits(environment: Mapping[str, str], *, is_open: bool) -> Places:
    """Return the places of waiting requests; without sign-in all callers are one, so none is reserved for others."""
    most = int(_number(environment, "MOST_WAITING"))
    return Places(most) if is_open else Places.shared(most)


def check_scopes(environment: Mapping[str, str], access: Access, catalog: Catalog) -> None:
    """Refuse a configuration in which required scopes would not be checked.

    Raises:
        SettingsError: the authorizer has no scopes, and some are required; the message names the tools.
    """
    if required(environment, "AUTHORIZER") in WITH_SCOPES:
        return
    needing = [f"the tool {tool.name}" for tool in catalog.in_order if tool.scopes]
    if access.required:
        needing.insert(0, "every request (REQUIRED_SCOPE)")
    if needing:
        raise SettingsError(
            f"Authorizer={environment['AUTHORIZER']} has no scopes, so these would not be checked: "
            f"{', '.join(needing)}. Use the authorizer jwt or cognito, or remove the scopes from the manifests."
        )


def check_extras(extras: Collection[str], catalog: Catalog) -> None:
    """Refuse a configuration in which what a manifest asks of an extra would not be done.

    Raises:
        SettingsError: the extra is off; the message names the tools.
    """
    needing = [f"{tool.name} ({', '.join(lacking)})" for tool in catalog.in_order if (lacking := tool.lacks(extras))]
    if needing:
        raise SettingsError(
            f"These tools have fields of extras that are off: {', '.join(needing)}. Switch the extras on (EXTRAS), or "
            "remove the fields from the manifests."
        )


def is_on(environment: Mapping[str, str], name: str) -> bool:
    """Tell whether a variable is on.

    CLIENT_CREDENTIALS: programs get tokens without a user. SPANS: spans in the log. Extras have others.
    """
    return environment.get(name) == "on"


def read_extras(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Read the names of the extras that are on.

    Raises:
        SettingsError: this release has none of some name.
    """
    names = read_list(environment, "EXTRAS")
    unknown = sorted(set(names) - EXTRAS.keys())
    if unknown:
        raise SettingsError(
            f"The environment variable EXTRAS names {', '.join(unknown)}; there are: {', '.join(EXTRAS) or 'none'}."
        )
    return names


def read_usage_limits(environment: Mapping[str, str]) -> Limits:
    """Read how many tasks a caller may have, and how fast they may come.

    Raises:
        SettingsError: a variable is missing or wrong.
    """
    return Limits(
        active=_count(environment, "MOST_ACTIVE_TASKS"), per_minute=_count(environment, "MOST_TASKS_PER_MINUTE")
    )


def required(environment: Mapping[str, str], name: str) -> str:
    """Return a variable that the template sets.

    Raises:
        SettingsError: it is missing or empty.
    """
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"The environment variable {name} is missing.")
    return value


def read_list(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the values of a variable, which are separated by commas."""
    parts = (part.strip() for part in environment.get(name, "").split(","))
    return tuple(part for part in parts if part)


def _number(environment: Mapping[str, str], name: str, kind: str = "a number") -> float:
    text = required(environment, name)
    with suppress(ValueError):
        number = float(text)
        if 0 <= number < _TOO_MANY_SECONDS:
            return number
    raise SettingsError(f"The environment variable {name} must be {kind}, 0 or more.")


def _seconds(environment: Mapping[str, str], name: str, default: timedelta | None = None) -> timedelta:
    if default is not None and name not in environment:
        return default
    return timedelta(seconds=_number(environment, name, "a number of seconds"))


def _count(environment: Mapping[str, str], name: str) -> int:
    text = required(environment, name)
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise SettingsError(f"The environment variable {name} must be a whole number, 1 or more.")


def _names(environment: Mapping[str, str], name: str) -> Mapping[str, str]:
    text = environment.get(name, "{}")
    with suppress(JsonTextError):
        names = parse(text)
        if is_object(names) and all(isinstance(arn, str) for arn in names.values()):
            return names
    raise SettingsError(f"The environment variable {name} must be a JSON object of names and ARNs.")
