"""What the emulated AWS cannot serve, and how the tests handle it. `make e2e` prints the list; review it as code.

The rule: no part of the template is left out and no test is skipped without a row here. A green run on the emulator
proves nothing about these rows on AWS: `make e2e ENDPOINT=...` does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import yaml


@dataclass(frozen=True)
class Gap:
    """A feature of AWS that the emulator (ministack 1.5.33) lacks, and what remains unproven."""

    what: str
    why: str


@dataclass(frozen=True)
class LeftOutProperty(Gap):
    """A property that is removed from the resources of a type before the deployment."""

    kind: str
    name: str


@dataclass(frozen=True)
class LeftOutResource(Gap):
    """Resources of a type that are removed if they have a property."""

    kind: str
    having: str


@dataclass(frozen=True)
class LeftOutCondition(Gap):
    """A condition that is always false there; deployments for which it would be true are not tested."""

    name: str


_IS_TEMPLATE: Final = re.compile(r"(extras/.*|template)\.yaml")
NEVER: Final = {"Fn::Equals": ["never", "ever"]}

# These would stop the deployment.
LEFT_OUT: Final = (
    LeftOutProperty(
        "CodeDeploy's gradual shift of traffic",
        "there is no AWS::CodeDeploy; the alias goes to the new version at once",
        kind="AWS::Serverless::Function",
        name="DeploymentPreference",
    ),
    LeftOutResource(
        "alarms on expressions of several metrics",
        "only those on one metric can be made",
        kind="AWS::CloudWatch::Alarm",
        having="Metrics",
    ),
    LeftOutCondition(
        "an event bus that is named by its ARN",
        "a condition cannot take a parameter apart; the stack is deployed without a bus",
        name="HasEventBusArn",
    ),
    LeftOutCondition(
        "a salt that is the id of another stack",
        "the same; the stack takes over no table",
        name="HasStackAsSalt",
    ),
)
# The emulator accepts these, but they have no effect or another one.
GAPS: Final = (
    Gap(
        "permissions to read parameters by their path", "are checked against every resource, so they are given for all"
    ),
    Gap("permissions on the tags of state machines", "are given without the condition"),
    Gap("events of parameters and tags", "are not sent; function catalog is invoked as by its schedule"),
    Gap(
        "AWS::Include",
        "is unknown; the included file is put into the template before, and its upload is tried by itself",
    ),
    Gap("arm64 and python3.13", "functions run on this machine and its Python, with the layers built for those"),
    Gap("workflows in YAML", "what SAM uploads must be JSON there, so the definitions are written anew as JSON"),
    Gap("time limits of a state that an expression gives", "fail the state, so each is written anew as an hour"),
    Gap("CORS of the API", "preflights get 403 whatever the template allows"),
    Gap("time to live", "is not turned on by CloudFormation, and removals are not in the stream, so nothing expires"),
    Gap(
        "heartbeats and time limits of executions",
        "HeartbeatSeconds and TimeoutSeconds of a whole workflow are ignored",
    ),
    Gap("names of a function's errors", "each is Runtime.HandlerError, so no Catch or Retry by name is reached"),
    Gap("delivery again, and dead letters of rules", "EventBridge delivers once; what fails is gone"),
    Gap("throttling of the stage, sizes of requests", "whatever comes is served"),
    Gap("WWW-Authenticate and the exact bodies of API Gateway's own errors", "they are others"),
    Gap("point-in-time recovery, encryption", "properties that are taken and do nothing"),
    Gap("SnapStart", "a property that is taken and does nothing"),
    Gap("alarms, dashboards, metrics", "are made, and never change state"),
    Gap(
        "CAPABILITY_IAM, unknown properties, a bad definition of a workflow",
        "are taken; `make check` looks for the last two",
    ),
    Gap("Authorizer=cognito and iam", "the stack is deployed with jwt alone"),
)


# Permissions that are checked against every resource, whatever the call names.
WIDENED: Final = ("ssm:GetParametersByPath", "states:ListTagsForResource")
# Members of a state that may be JSONata expressions.
TIME_LIMITS: Final = ("TimeoutSeconds", "HeartbeatSeconds")
AN_HOUR: Final = 3600  # seconds


def with_plain_time_limits(definition: Any) -> Any:
    """Replace time limits that are expressions by numbers, in a definition or any part of one."""
    match definition:
        case dict():
            return {
                key: AN_HOUR if key in TIME_LIMITS and isinstance(part, str) else with_plain_time_limits(part)
                for key, part in cast(dict[str, Any], definition).items()
            }
        case list():
            return [with_plain_time_limits(part) for part in cast(list[Any], definition)]
        case _:
            return definition


def with_wide_permissions(value: Any) -> Any:
    """Rewrite the statements of WIDENED, and those on tags and keys, so that they hold for every resource."""
    match value:
        case {"Action": str(action), "Resource": _} if action in WIDENED:
            return {**cast(dict[str, Any], value), "Resource": "*"}
        case {"Action": _, "Condition": {"StringEquals": {"aws:ResourceTag/stepwire:endpoint": _}}} | {
            "Action": _,
            "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": _}},
        }:
            return {key: part for key, part in cast(dict[str, Any], value).items() if key != "Condition"}
        case dict():
            return {key: with_wide_permissions(part) for key, part in cast(dict[str, Any], value).items()}
        case list():
            return [with_wide_permissions(part) for part in cast(list[Any], value)]
        case _:
            return value


def without_what_is_left_out(template: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Remove LEFT_OUT from a template; return the rest and the names of the removed parts."""
    resources = cast(dict[str, dict[str, Any]], template.get("Resources", {}))
    taken = [place for name, body in resources.items() for place in _left_out_of(name, body)]
    rest = {name: _without(name, body, taken) for name, body in resources.items() if name not in taken}
    conditions = cast(dict[str, Any], template.get("Conditions", {}))
    unmet = [one.name for one in LEFT_OUT if isinstance(one, LeftOutCondition) and one.name in conditions]
    rewritten = {"Conditions": conditions | dict.fromkeys(unmet, NEVER)} if unmet else {}
    return {**template, "Resources": rest, **rewritten}, [*taken, *unmet]


def released(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a release, of which the core's template and the parts of extras are without LEFT_OUT."""
    changed = {name: _document(text) for name, text in contents.items() if _IS_TEMPLATE.fullmatch(name)}
    return {**contents, **changed}


def _document(text: bytes) -> bytes:
    rest, _ = without_what_is_left_out(with_wide_permissions(yaml.safe_load(text)))
    return yaml.safe_dump(rest, sort_keys=False).encode()


def _left_out_of(name: str, body: Mapping[str, Any]) -> Iterator[str]:
    properties = cast(Mapping[str, Any], body.get("Properties") or {})
    for one in LEFT_OUT:
        match one:
            case LeftOutProperty() if one.kind == body.get("Type") and one.name in properties:
                yield f"{name}.{one.name}"
            # What a part of an extra adds to a resource has no type.
            case LeftOutResource() if one.kind == body.get("Type", one.kind) and one.having in properties:
                yield name
            case _:
                pass


def _without(name: str, body: dict[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    properties = cast(dict[str, Any], body.get("Properties") or {})
    return {**body, "Properties": {key: value for key, value in properties.items() if f"{name}.{key}" not in taken}}
