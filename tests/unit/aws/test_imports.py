"""The cost of a cold start: importing a function loads and builds nothing that the first request may not need."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import CompiledTool, catalog_text
from tests.cold_start import SETTINGS
from tests.kits import OPTIONAL

FUNCTIONS = Path(__file__).parents[3] / "functions"
OF_EXTRAS = [path.parent.relative_to(FUNCTIONS).as_posix() for path in sorted(FUNCTIONS.glob("extras/**/app.py"))]
# The local stack and its server, the clients, the slow validator, and what reads manifests.
NOT_IN_A_FUNCTION = (
    *("moto", "mcp", "mcp_types", "uvicorn", "jsonschema", "yaml", "stepwire_local", "stepwire.manifests"),
    *("cffi", "cryptography", "jwt"),  # in a layer of those functions alone that verify tokens or encrypt links
)

ENVIRONMENT = {**SETTINGS, "STATE_MACHINES": "{}"}

# What function mcp loads when a request needs it, and not before.
LATER = (
    *("boto3", "botocore.client", "botocore.session", "urllib3", "http.client", "aws_lambda_powertools"),
    *("jsonschema_rs", "pydantic_core", "stepwire.background.sweep", "stepwire.aws.spans"),
    "stepwire.aws.request_spans",
)
MOST_MODULES = 260  # of which two thirds are Python's; a version of Python has some more, or fewer
MOST_OF_OURS = 103

REPORT = """
import json, sys
modules = sorted(sys.modules)
import boto3
from stepwire.schemas import validation
print(json.dumps({
    "modules": modules,
    "clients": boto3.DEFAULT_SESSION is not None,
    "schemas": validation._compiled.cache_info().currsize,
}))
"""


def after(code: str, function: str, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Run code in a new interpreter in a function's folder; return what it reports about the interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT],
        cwd=FUNCTIONS / function,
        env={"PATH": os.environ["PATH"], **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@cache
def imported(function: str) -> dict[str, Any]:
    """Return what an interpreter reports that has imported a function."""
    return after("import app", function)


@pytest.mark.parametrize("function", ["mcp", "execution_events", "input_requests"])
def test_importing_a_function_loads_no_modules_of_others_needs_no_environment_and_builds_nothing(function: str) -> None:
    found = imported(function)

    loaded = {module for module in NOT_IN_A_FUNCTION if module in found["modules"]}
    assert loaded == set()
    assert "stepwire.aws.bootstrap" in found["modules"]
    assert not found["clients"]
    assert found["schemas"] == 0


def test_function_catalog_alone_loads_the_compiler_of_manifests() -> None:
    functions = [path.parent.name for path in FUNCTIONS.glob("*/app.py")]

    loading = {name for name in functions if "stepwire.manifests" in imported(name)["modules"]}
    assert loading == {"catalog"}
    assert len(functions) > 1


@pytest.mark.parametrize("function", ["execution_events", "input_requests", *OF_EXTRAS])
def test_a_function_for_which_no_client_waits_loads_no_server(function: str) -> None:
    modules = imported(function)["modules"]

    # The settings of function mcp name a type of the room of the server.
    loaded = {module for module in modules if module.startswith("stepwire.server.")}
    assert loaded <= {"stepwire.server.services"}


def test_function_status_changes_loads_no_cryptography_before_it_makes_a_link() -> None:
    assert not {"cffi", "cryptography", "jwt"} & set(imported("status_changes")["modules"])


def test_function_mcp_loads_nothing_of_aws_before_a_request_needs_it(tmp_path: Path) -> None:
    found = after("import app; app.handler.warm()", "mcp", catalog_in(tmp_path))
    modules = found["modules"]

    assert not found["clients"]
    assert found["schemas"] == 0
    assert not set(NOT_IN_A_FUNCTION) & set(modules)
    assert not set(LATER) & set(modules)
    assert len(modules) <= MOST_MODULES
    assert sum(module.partition(".")[0] == "stepwire" for module in modules) <= MOST_OF_OURS


@pytest.mark.parametrize("variable", [{"SPANS": "on"}, {"TRACING": "Active"}])
def test_function_mcp_loads_what_makes_spans_where_they_are_on(tmp_path: Path, variable: dict[str, str]) -> None:
    found = after("import app; app.handler.warm()", "mcp", {**catalog_in(tmp_path), **variable})

    assert "stepwire.aws.request_spans" in found["modules"]
    assert "aws_lambda_powertools" not in found["modules"]


def catalog_in(folder: Path, **more: Any) -> dict[str, str]:
    """Write a catalog of one tool; return an environment in which it is found."""
    tool = replace(OPTIONAL, name="greet", **more)
    (folder / "catalog.json").write_text(catalog_text([CompiledTool(tool, "a.yaml")]))
    return {**ENVIRONMENT, "LAMBDA_TASK_ROOT": str(folder)}


def test_unchecked_scopes_fail_when_a_function_is_warmed(tmp_path: Path) -> None:
    environment = catalog_in(tmp_path, scopes=("refunds",))

    with pytest.raises(AssertionError, match=r"SettingsError.*Authorizer=none has no scopes.*the tool greet"):
        after("import app; app.handler.warm()", "mcp", environment)


def test_a_wrong_setting_fails_when_a_function_is_warmed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="The environment variable AUTHORIZER is missing"):
        after("import app; app.handler.warm()", "mcp")
