"""What a function in Node.js needs besides what every function has: a `node`, a build, and the services over HTTP."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from stepwire_local.cloudformation.resources.kinds import Resource, World
from stepwire_local.iam.keys import credentials_of
from stepwire_local.iam.permissions import Role
from stepwire_local.lambdas.functions import family
from stepwire_local.lambdas.invocations import FunctionSettings
from stepwire_local.lambdas.node.building import built, is_built_here, packages_above
from stepwire_local.lambdas.node.machine import OLDEST, node_here, version_of


def is_node(runtime: object) -> bool:
    """Return whether a runtime is one of Node.js."""
    return family(str(runtime)) == "nodejs"


def why_not(runtime: str) -> str:
    """Return why functions of a runtime of Node.js cannot run here; empty if they can."""
    missing = f"its runtime is {runtime}, and this machine has no `node` of version {OLDEST} or later"
    return missing if node_here() is None else ""


def variables_of(role: Role | None, world: World) -> Mapping[str, str]:
    """Return the variables with which code in a process of its own calls the account's services, under its role."""
    return {
        **(credentials_of(role) if role else {}),
        "AWS_ENDPOINT_URL": world.services_url(),
        # The SDK would warn at each call that the above differs from the URLs of queues.
        "AWS_ENDPOINT_URL_SQS": f"https://sqs.{world.region}.amazonaws.com",
        # No X-Ray daemon runs here.
        "POWERTOOLS_TRACE_ENABLED": "false",
    }


def with_build(resource: Resource, settings: FunctionSettings, world: World) -> FunctionSettings:
    """Return the settings with the folder that runs: what esbuild makes of the code, if the template says so.

    Raises:
        FunctionLoadError: it cannot be built.
    """
    if settings.not_run or not is_node(settings.runtime):
        return settings
    node = node_here()
    if node and version_of(settings.runtime) > node.version:
        world.notes.append(f"functions for {settings.runtime} run on this machine's Node.js {node.version}")
    if "ZipFile" in resource.properties["Code"]:
        beside = world.stubs.folder.parent if world.stubs.folder else Path()
        return replace(settings, packages=packages_above(beside.resolve()))
    if not is_built_here(resource.metadata):
        return settings
    folder = built(settings.folder, settings.handler, resource.metadata)
    return replace(settings, folder=folder, packages=packages_above(settings.folder))
