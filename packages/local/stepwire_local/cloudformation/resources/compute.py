"""Lambda functions and what belongs to them: layers, permissions."""

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from stepwire_local.account.isolation import dummy_credentials
from stepwire_local.cloudformation.files import inline
from stepwire_local.cloudformation.intrinsics import text_of
from stepwire_local.cloudformation.resources.kinds import (
    NOT_ENFORCED,
    Change,
    Created,
    Kind,
    Resource,
    World,
    destination,
    keep,
    named,
    needs_of,
)
from stepwire_local.cloudformation.resources.node_functions import is_node, variables_of, why_not, with_build
from stepwire_local.cloudformation.resources.roles import check_allowed, role_of
from stepwire_local.errors import FunctionLoadError, TemplateError
from stepwire_local.lambdas.catalog import compile_catalog, list_release_tools
from stepwire_local.lambdas.environment import machine_variables
from stepwire_local.lambdas.functions import LANGUAGES, Function, family, register, unregister
from stepwire_local.lambdas.invocations import FunctionSettings
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.owners import register as own_stubs

logger = logging.getLogger(__name__)

# An archive without files: the code is loaded from its folder.
_EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


def _function(resource: Resource, world: World) -> Created:
    properties = resource.properties
    name = _name(resource, world)
    own_stubs(world.arn("lambda", f"function:{name}"), Owned(world.stubs, (resource.logical_id, name)))
    settings = _settings(resource, world, name, _not_run(resource, world))
    check_allowed(resource, settings.role, needs_of(settings.dead_letters))
    world.client("lambda").create_function(
        FunctionName=name,
        Runtime=properties.get("Runtime", "python3.13"),
        Role=properties["Role"] if settings.role else _role_from_outside(world),
        Handler=settings.handler,
        Timeout=int(settings.timeout),
        MemorySize=settings.memory,
        Code={"ZipFile": _EMPTY_ZIP},
    )
    if not settings.not_run:
        compile_catalog(resource.logical_id, settings.folder)
        list_release_tools(resource.logical_id, settings.folder)
    function = _loaded(resource, settings, world)
    register(function)
    world.functions[resource.logical_id] = function
    return Created(name, {"Arn": settings.arn})


def _role_from_outside(world: World) -> str:
    """Return the ARN of a role for functions whose own is of no template here: moto wants one that is here."""
    iam, name = world.client("iam"), "outside"
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    return iam.get_role(RoleName=name)["Role"]["Arn"]


def _loaded(resource: Resource, settings: FunctionSettings, world: World) -> Function:
    """Return the function; if it cannot be loaded, one that says why whenever it is called."""
    try:
        return Function(with_build(resource, settings, world), instances=world.instances, layers=world.layers)
    except FunctionLoadError as error:
        return Function(_without_code(settings, error), instances=world.instances)


def _without_code(settings: FunctionSettings, error: FunctionLoadError) -> FunctionSettings:
    return replace(settings, not_run=str(error), error_type=error.kind)


def _not_run(resource: Resource, world: World) -> str:
    """Return why a function cannot run here; empty if it can."""
    properties = resource.properties
    if properties.get("PackageType", "Zip") != "Zip":
        return "its code is a container image"
    runtime = str(properties.get("Runtime", ""))
    if family(runtime) not in LANGUAGES:
        return f"its runtime is {runtime}" if runtime else "it names no runtime"
    if is_node(runtime) and (why := why_not(runtime)):
        return why
    return "" if _folder(resource, world) else "its code is not in a folder on this disk"


def _folder(resource: Resource, world: World) -> Path | None:
    """Return the folder of a function's code; None if the code is not on this disk."""
    code: Mapping[str, Any] = resource.properties["Code"]
    file = "index.js" if is_node(resource.properties.get("Runtime")) else "index.py"
    return inline(str(code["ZipFile"]), file) if "ZipFile" in code else world.folders.get(code.get("S3Key", ""))


def _name(resource: Resource, world: World) -> str:
    return resource.properties.get("FunctionName", world.name(resource))


def _stub(logical_id: str, properties: Mapping[str, Any], world: World) -> str:
    name = properties.get("FunctionName", f"{world.stack}-{logical_id}")
    found = world.stubs.find([logical_id, name, world.arn("lambda", f"function:{name}")])
    return str(found.path) if found else ""


def _changed(change: Change, world: World) -> Created:
    """Load a function anew, in place: routes and streams refer to it."""
    resource, function = change.after, world.functions[change.after.logical_id]
    settings = _settings(resource, world, _name(resource, world), _not_run(resource, world))
    if settings.arn != function.arn:
        raise TemplateError(f"{resource.logical_id}: its name changes by a restart only.")
    if not settings.not_run:
        compile_catalog(resource.logical_id, settings.folder)
    _reload(resource, function, settings, world)
    return change.created


def _reload(resource: Resource, function: Function, settings: FunctionSettings, world: World) -> None:
    try:
        function.replace(with_build(resource, settings, world))
    except FunctionLoadError as error:
        if not (function.settings.not_run or _stub(resource.logical_id, resource.properties, world)):
            raise FunctionLoadError(f"{resource.logical_id}: {error}") from error  # the last good one serves
        logger.warning("%s: %s", resource.logical_id, error)
        function.replace(_without_code(settings, error))


def _removed(resource: Resource, _created: Created, world: World) -> None:
    unregister(world.functions.pop(resource.logical_id))


def _settings(resource: Resource, world: World, name: str, not_run: str) -> FunctionSettings:
    properties = resource.properties
    target = properties.get("DeadLetterConfig", {}).get("TargetArn")
    dead_letters = destination(resource, target, "failed events", world)
    settings = FunctionSettings(
        name=name,
        arn=world.arn("lambda", f"function:{name}"),
        folder=(None if not_run else _folder(resource, world)) or Path(),
        handler=properties.get("Handler", "") if not_run else properties["Handler"],
        timeout=int(properties.get("Timeout", 3)),
        memory=int(properties.get("MemorySize", 128)),
        log_group=properties.get("LoggingConfig", {}).get("LogGroup", f"/aws/lambda/{name}"),
        dead_letters=dead_letters,
        role=role_of(resource, properties["Role"], world),
        not_run=not_run,
        runtime=str(properties.get("Runtime", "python3.13")),
    )
    given: Mapping[str, Any] = properties.get("Environment", {}).get("Variables", {})
    own = {key: text_of(value) for key, value in given.items()}
    return replace(settings, variables={**_variables(resource, settings, world), **own})


def _variables(resource: Resource, settings: FunctionSettings, world: World) -> Mapping[str, str]:
    """Return the environment variables that Lambda gives a function."""
    return {
        **machine_variables(),
        **world.variables,
        **dummy_credentials(world.region),
        **(variables_of(settings.role, world) if is_node(settings.runtime) and not settings.not_run else {}),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{resource.properties.get('Runtime', 'image')}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(settings.memory),
        "AWS_LAMBDA_FUNCTION_NAME": settings.name,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_FORMAT": resource.properties.get("LoggingConfig", {}).get("LogFormat", "Text"),
        "AWS_LAMBDA_LOG_GROUP_NAME": settings.log_group,
        "AWS_LAMBDA_LOG_STREAM_NAME": "local",
        "LAMBDA_TASK_ROOT": str(settings.folder),
        "TZ": ":UTC",
        "_HANDLER": settings.handler,
        # No X-Ray daemon runs here.
        "AWS_XRAY_SDK_ENABLED": "false",
        "POWERTOOLS_TRACE_DISABLED": "true",
    }


def _layer(resource: Resource, world: World) -> Created:
    """Add the layer's own code to the path; the packages that its build would install come from this environment."""
    key = resource.properties.get("Content", {}).get("S3Key", "")
    if key in world.folders:
        world.layers.append(world.folders[key])
        ready = str(world.folders[key] / "python")
        if Path(ready).is_dir() and ready not in sys.path:
            sys.path.append(ready)
    name: str = resource.properties.get("LayerName", world.name(resource))
    arn = world.arn("lambda", f"layer:{name}:1")
    return Created(arn, {"LayerVersionArn": arn})


KINDS = {
    "AWS::Lambda::Function": Kind(
        _function,
        served=(
            "Code",
            "DeadLetterConfig",
            "Environment",
            "FunctionName",
            "Handler",
            "LoggingConfig",
            "MemorySize",
            "PackageType",
            "Role",
            "Runtime",
            "Timeout",
        ),
        # Layers have their own note.
        harmless=(
            "Architectures",
            "Layers",
            "TracingConfig",
            "EphemeralStorage",
            "KmsKeyArn",
            "ReservedConcurrentExecutions",
            "SnapStart",
        ),
        note="functions: in Python they run in this process on this Python, without a memory limit, and one copy "
        "serves many at once; in Node.js they run in processes of this machine's node",
        update=_changed,
        remove=_removed,
        stub=_stub,
    ),
    "AWS::Lambda::LayerVersion": Kind(
        _layer,
        served=("Content", "LayerName"),
        harmless=("CompatibleArchitectures", "CompatibleRuntimes", "LicenseInfo"),
        note="layers: their packages are those of this Python environment",
    ),
    "AWS::Lambda::Permission": Kind(
        named,
        harmless=(
            "Action",
            "EventSourceToken",
            "FunctionName",
            "FunctionUrlAuthType",
            "InvokedViaFunctionUrl",
            "Principal",
            "PrincipalOrgID",
            "SourceAccount",
            "SourceArn",
        ),
        note=NOT_ENFORCED,
        update=keep,
    ),
}
