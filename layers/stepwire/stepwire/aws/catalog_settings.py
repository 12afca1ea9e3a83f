"""The settings of function catalog, from its environment."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from stepwire.aws.settings import TASK_ROOT, WITH_SCOPES, read_extras, read_list, required
from stepwire.json_text import load_json
from stepwire.manifests.published import Endpoint


class CatalogSettings(Struct, frozen=True):
    """What function catalog is told."""

    table_name: str
    endpoint: Endpoint
    path: str
    """Of the parameters that tools are registered with."""
    allowed: tuple[str, ...]
    """ARNs of state machines that need no tag; a name may end in *."""
    extras: tuple[str, ...]
    """Names of the extras that are on: their fields a manifest may have."""
    release_tools: Mapping[str, str]
    """The files of the manifests that are part of the release, by the names of their tools."""


def read_catalog_settings(environment: Mapping[str, str]) -> CatalogSettings:
    """Read the settings of function catalog.

    Raises:
        SettingsError: one is missing or wrong.
    """
    name = required(environment, "ENDPOINT_NAME")
    checks_scopes = required(environment, "AUTHORIZER") in WITH_SCOPES
    # What the build wrote beside the handler.
    release_tools = Path(environment.get(TASK_ROOT, "")) / "release_tools.json"
    return CatalogSettings(
        table_name=required(environment, "TABLE_NAME"),
        endpoint=Endpoint(
            name,
            required(environment, "STATE_MACHINE_PREFIX"),
            checks_scopes,
            read_list(environment, "WORKFLOW_ROLE_ARNS"),
        ),
        path=f"/stepwire/{name}/tools/",
        allowed=read_list(environment, "STATE_MACHINE_ARNS"),
        extras=read_extras(environment),
        release_tools=load_json(release_tools.read_text(encoding="utf-8")) if release_tools.is_file() else {},
    )
