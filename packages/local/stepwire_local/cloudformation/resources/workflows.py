"""Step Functions state machines, their versions and their aliases."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from botocore.exceptions import ClientError
from jsonata import JException, Jsonata  # pyright: ignore[reportMissingTypeStubs]

from stepwire_local.account import stub_machines
from stepwire_local.cloudformation.definitions import fault_in, reserved_names, substituted, with_numbers
from stepwire_local.cloudformation.resources.kinds import NOT_SERVED, Change, Created, Kind, Resource, World
from stepwire_local.cloudformation.resources.roles import role_of
from stepwire_local.errors import TemplateError
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.owners import register as own_stubs

_LONGEST = 300  # characters of what moto says of a definition


def _state_machine(resource: Resource, world: World) -> Created:
    name = _name(resource, world)
    stub_machines.make_room(world.arn("states", f"stateMachine:{name}"))
    own_stubs(world.arn("states", f"stateMachine:{name}"), Owned(world.stubs, (resource.logical_id, name)))
    try:
        made = world.client("stepfunctions").create_state_machine(
            name=name,
            **_settings(resource, world),
            type=resource.properties.get("StateMachineType", "STANDARD"),
            tags=[{"key": key, "value": value} for key, value in _tags(resource).items()],
        )
    except ClientError as error:
        raise _refused(resource, error) from error
    arn: str = made["stateMachineArn"]
    world.state_machines.append(arn)
    return Created(arn, {"Arn": arn, "Name": name, "StateMachineRevisionId": "INITIAL"})


def _changed(change: Change, world: World) -> Created:
    kinds = {one.properties.get("StateMachineType", "STANDARD") for one in (change.before, change.after)}
    if _name(change.before, world) != _name(change.after, world) or len(kinds) > 1:
        raise TemplateError(f"{change.after.logical_id}: its name and its type change by a restart only.")
    client, arn = world.client("stepfunctions"), change.created.reference
    try:
        client.update_state_machine(stateMachineArn=arn, **_settings(change.after, world))
    except ClientError as error:
        raise _refused(change.after, error) from error
    before, after = _tags(change.before), _tags(change.after)
    if gone := [key for key in before if key not in after]:
        client.untag_resource(resourceArn=arn, tagKeys=gone)
    if new := [{"key": key, "value": value} for key, value in after.items() if before.get(key) != value]:
        client.tag_resource(resourceArn=arn, tags=new)
    return change.created


def _removed(_resource: Resource, created: Created, world: World) -> None:
    world.client("stepfunctions").delete_state_machine(stateMachineArn=created.reference)
    world.state_machines.remove(created.reference)


def _settings(resource: Resource, world: World) -> dict[str, Any]:
    """Return the definition and the role, after checking both, and the encryption."""
    properties = resource.properties
    is_stub = _stub(resource.logical_id, properties, world) or not _is_here(properties)
    definition = stub_machines.definition() if is_stub else _checked(resource, world)
    role_of(resource, properties["RoleArn"], world)
    encryption = _encryption(properties.get("EncryptionConfiguration"))
    return {"definition": definition, "roleArn": properties["RoleArn"], **encryption}


def _checked(resource: Resource, world: World) -> str:
    properties = resource.properties
    definition = substituted(_definition(properties), properties.get("DefinitionSubstitutions", {}))
    try:
        program = json.loads(definition)
    except ValueError as error:
        raise TemplateError(f"{resource.logical_id}: its definition is not JSON: {error}.") from error
    # AWS refuses these at deployment, moto only when an execution comes there.
    if fault := fault_in(program):
        raise TemplateError(f"{resource.logical_id}: {fault}.")
    _check_expressions(resource.logical_id, program)
    for name in reserved_names(program):
        world.notes.append(
            f"{resource.logical_id}: {name} is no error of Step Functions, which keeps the prefix States."
        )
    return _with_functions(json.dumps(with_numbers(program)), world)


def _is_here(properties: Mapping[str, Any]) -> bool:
    """Return whether the template has a definition, or names one on this disk."""
    return bool({"DefinitionString", "Definition"} & set(properties))


def _with_functions(definition: str, world: World) -> str:
    """Let the Resource of a Task be an ARN where it belongs to what is not served: without one, no state is read."""
    function = world.arn("lambda", "function:")
    return re.sub(rf'("Resource":\s*")([^":]*{NOT_SERVED})"', rf'\1{function}\2"', definition)


def _stub(logical_id: str, properties: Mapping[str, Any], world: World) -> str:
    name = properties.get("StateMachineName", f"{world.stack}-{logical_id}")
    found = world.stubs.find([logical_id, name, world.arn("states", f"stateMachine:{name}")])
    return str(found.path) if found else ""


def _activity(resource: Resource, world: World) -> Created:
    name: str = resource.properties.get("Name", world.name(resource))
    arn = world.arn("states", f"activity:{name}")
    own_stubs(arn, Owned(world.stubs, (resource.logical_id, name)))
    return Created(arn, {"Arn": arn, "Name": name})


def _tags(resource: Resource) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in resource.properties.get("Tags", [])}


def _name(resource: Resource, world: World) -> str:
    return resource.properties.get("StateMachineName", world.name(resource))


def _refused(resource: Resource, error: ClientError) -> TemplateError:
    words = str(error.response.get("Error", {}).get("Message", error))
    # moto repeats the whole definition, and lists all that its grammar expects.
    cause = re.split(r" in definition '| expecting \{", words, maxsplit=1)[0]
    return TemplateError(f"{resource.logical_id}: {' '.join(cause.split())[:_LONGEST]}")


def _encryption(configuration: Mapping[str, Any] | None) -> dict[str, Any]:
    if configuration is None:
        return {}
    return {"encryptionConfiguration": {name[:1].lower() + name[1:]: value for name, value in configuration.items()}}


def _version(resource: Resource, world: World) -> Created:
    arn: str = resource.properties["StateMachineArn"]
    # moto publishes only what is updated.
    states = world.client("stepfunctions")
    definition = states.describe_state_machine(stateMachineArn=arn)["definition"]
    made = states.update_state_machine(stateMachineArn=arn, definition=definition, publish=True)
    version: str = made["stateMachineVersionArn"]
    return Created(version, {"Arn": version})


def _alias(resource: Resource, world: World) -> Created:
    properties = resource.properties
    preferred = properties.get("DeploymentPreference", {}).get("StateMachineVersionArn")
    routes: list[Any] = properties.get("RoutingConfiguration") or [{"StateMachineVersionArn": preferred, "Weight": 100}]
    made = world.client("stepfunctions").create_state_machine_alias(
        name=properties.get("Name", resource.logical_id),
        routingConfiguration=[
            {"stateMachineVersionArn": one["StateMachineVersionArn"], "weight": int(one["Weight"])} for one in routes
        ],
    )
    alias: str = made["stateMachineAliasArn"]
    return Created(alias, {"Arn": alias})


def _definition(properties: Mapping[str, Any]) -> str:
    if "DefinitionString" in properties:
        return properties["DefinitionString"]
    return json.dumps(properties["Definition"])


def _check_expressions(where: str, value: Any) -> None:
    """Refuse an expression that does not parse."""
    if isinstance(value, str):
        if value.startswith("{%") and value.endswith("%}"):
            _check_expression(where, value[2:-2])
        return
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
    else:
        entries = enumerate(cast("list[Any]", value)) if isinstance(value, list) else ()
    for key, entry in entries:
        _check_expressions(f"{where}.{key}", entry)


def _check_expression(where: str, expression: str) -> None:
    try:
        Jsonata(expression)
    except JException as error:
        raise TemplateError(f"{where}: {expression.strip()!r} is not JSONata: {error}") from error


KINDS = {
    "AWS::StepFunctions::StateMachine": Kind(
        _state_machine,
        served=(
            "StateMachineName",
            "DefinitionString",
            "Definition",
            "DefinitionSubstitutions",
            "RoleArn",
            "StateMachineType",
            "EncryptionConfiguration",
        ),
        harmless=("TracingConfiguration", "LoggingConfiguration"),
        note="state machines: no logs, no tracing, no redrive; a key only empties their events",
        update=_changed,
        remove=_removed,
        stub=_stub,
    ),
    "AWS::StepFunctions::Activity": Kind(
        _activity, served=("Name",), harmless=("EncryptionConfiguration",), note="activities: have no workers here"
    ),
    "AWS::StepFunctions::StateMachineVersion": Kind(
        _version, served=("StateMachineArn",), harmless=("StateMachineRevisionId",)
    ),
    "AWS::StepFunctions::StateMachineAlias": Kind(
        _alias,
        served=("Name", "RoutingConfiguration", "DeploymentPreference"),
        note="aliases: the version with the most weight gets every start; no gradual deployments",
    ),
}
