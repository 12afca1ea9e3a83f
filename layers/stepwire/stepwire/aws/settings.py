"""The settings of the functions: environment variables, read once, each fault named."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from stepwire.access import Access
from stepwire.aws.sign_in import ISSUER_AND_SUBJECT, SignIn
from stepwire.catalog import Catalog
from stepwire.errors import StepwireError
from stepwire.json_text import JsonTextError, is_object, parse
from stepwire.methods import Patience
from stepwire.tasks.usage import Limits
from stepwire.upkeep import Intervals
from stepwire.waiting import WaitLimits

# The sign-ins whose tokens have scopes.
_WITH_SCOPES = ("jwt", "cognito")

# Parts of a function's environment that Lambda itself sets.
TASK_ROOT = "LAMBDA_TASK_ROOT"


class SettingsError(StepwireError):
    """An environment variable is missing or wrong; the message names it."""


@dataclass(frozen=True)
class McpSettings:
    """What function mcp is told."""

    table_name: str
    state_machines: Mapping[str, str]
    """Names that manifests may use, and the ARN of each."""
    sign_in: SignIn
    access: Access
    allowed_origins: frozenset[str]
    patience: Patience
    intervals: Intervals
    no_resume: tuple[str, ...]
    limits: Limits
    polls_per_second: float
    waits: WaitLimits
    secret_arn: str
    """Of the secret that seals what clients keep for us."""
    catalog: Path


def read_mcp_settings(environment: Mapping[str, str]) -> McpSettings:
    """Read the settings of function mcp.

    Raises:
        SettingsError: one is missing or wrong.
    """
    return McpSettings(
        table_name=read_table_name(environment),
        state_machines=_names(environment, "STATE_MACHINES"),
        sign_in=_sign_in(environment),
        access=_access(environment),
        allowed_origins=frozenset(_list(environment, "ALLOWED_ORIGINS")),
        patience=Patience(
            wait=_seconds(environment, "WAIT_SECONDS"),
            inline=_seconds(environment, "INLINE_WAIT_SECONDS"),
            hold=_seconds(environment, "HOLD_SECONDS"),
        ),
        intervals=Intervals(
            repair=_seconds(environment, "REPAIR_AFTER_SECONDS"), state=_seconds(environment, "STATE_AFTER_SECONDS")
        ),
        no_resume=_list(environment, "NO_RESUME_CLIENTS"),
        limits=Limits(
            active=_count(environment, "MOST_ACTIVE_TASKS"),
            per_minute=_count(environment, "MOST_TASKS_PER_MINUTE"),
            ttl=timedelta(hours=_count(environment, "LONGEST_TTL_HOURS")),
            argument_bytes=_count(environment, "MOST_ARGUMENT_BYTES"),
        ),
        polls_per_second=_number(environment, "POLLS_PER_SECOND"),
        waits=WaitLimits(
            all=int(_number(environment, "MOST_WAITING")),
            per_caller=int(_number(environment, "MOST_WAITING_PER_CALLER")),
        ),
        secret_arn=_text(environment, "SECRET_ARN"),
        catalog=Path(_text(environment, TASK_ROOT)) / "catalog.json",
    )


def check_scopes(environment: Mapping[str, str], access: Access, catalog: Catalog) -> None:
    """Stop a start after which scopes that somebody relies on would be checked by nobody.

    Raises:
        SettingsError: the sign-in knows no scopes, and some are needed; the message names the tools.
    """
    if _text(environment, "AUTHORIZER") in _WITH_SCOPES or access.allows_unchecked:
        return
    needing = [f"the tool {tool.name}" for tool in catalog.in_order if tool.scopes]
    if access.required:
        needing.insert(0, "every request (REQUIRED_SCOPE)")
    if needing:
        raise SettingsError(
            f"Authorizer={environment['AUTHORIZER']} knows no scopes, so nobody would check those of "
            f"{', '.join(needing)}. Sign in with jwt or cognito, take the scopes out of the manifests, or allow "
            "everybody to call these tools with UncheckedScopes=allow."
        )


def read_table_name(environment: Mapping[str, str]) -> str:
    """Read the name of the table of the tasks.

    Raises:
        SettingsError: it is missing.
    """
    return _text(environment, "TABLE_NAME")


def read_event_bus(environment: Mapping[str, str]) -> str:
    """Read the name or the ARN of the event bus that hears of changes of status.

    Raises:
        SettingsError: it is missing.
    """
    return _text(environment, "EVENT_BUS")


def read_sweep_interval(environment: Mapping[str, str]) -> timedelta:
    """Read how long a task may go unread before the sweep looks after it.

    Raises:
        SettingsError: it is missing or wrong.
    """
    return timedelta(minutes=_count(environment, "SWEEP_MINUTES"))


def _sign_in(environment: Mapping[str, str]) -> SignIn:
    return SignIn(
        salt=_text(environment, "PRINCIPAL_SALT"),
        is_open=_is_open(environment),
        claims=_list(environment, "PRINCIPAL_CLAIMS") or ISSUER_AND_SUBJECT,
    )


def _access(environment: Mapping[str, str]) -> Access:
    resource = environment.get("RESOURCE", "")
    return Access(
        required=_list(environment, "REQUIRED_SCOPE"),
        # Cognito puts the name of the resource before its scopes.
        prefix=f"{resource}/" if _text(environment, "AUTHORIZER") == "cognito" else "",
        metadata_url=_metadata_url(resource),
        knows_callers=not _is_open(environment),
        allows_unchecked=environment.get("UNCHECKED_SCOPES") == "allow",
    )


def _is_open(environment: Mapping[str, str]) -> bool:
    return _text(environment, "AUTHORIZER") == "none"


def _metadata_url(resource: str) -> str:
    """Say where RFC 9728 puts the metadata of a resource: between its host and its path."""
    url = urlsplit(resource)
    return f"{url.scheme}://{url.netloc}/.well-known/oauth-protected-resource{url.path}" if resource else ""


def _text(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"The environment variable {name} is missing.")
    return value


def _list(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    parts = (part.strip() for part in environment.get(name, "").split(","))
    return tuple(part for part in parts if part)


def _number(environment: Mapping[str, str], name: str) -> float:
    text = _text(environment, name)
    with suppress(ValueError):
        number = float(text)
        if 0 <= number < float("inf"):
            return number
    raise SettingsError(f"The environment variable {name} must be a number, 0 or more.")


def _seconds(environment: Mapping[str, str], name: str) -> timedelta:
    text = _text(environment, name)
    with suppress(ValueError, OverflowError):
        duration = timedelta(seconds=float(text))
        if duration >= timedelta():
            return duration
    raise SettingsError(f"The environment variable {name} must be a number of seconds, 0 or more.")


def _count(environment: Mapping[str, str], name: str) -> int:
    text = _text(environment, name)
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise SettingsError(f"The environment variable {name} must be a whole number, 1 or more.")


def _names(environment: Mapping[str, str], name: str) -> Mapping[str, str]:
    text = _text(environment, name)
    with suppress(JsonTextError):
        names = parse(text)
        if is_object(names) and all(isinstance(arn, str) for arn in names.values()):
            return names
    raise SettingsError(f"The environment variable {name} must be a JSON object of names and ARNs.")
