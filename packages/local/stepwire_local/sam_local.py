"""Writes the file for `sam local --env-vars`: the functions' variables with the values of the running stack.

The rule: every function must declare AWS_ENDPOINT_URL. `sam local` gives a container only the variables that the
template declares, and the developer's own keys; without AWS_ENDPOINT_URL, its calls would reach the real AWS.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepwire_local.errors import TemplateError
from stepwire_local.stack import LocalStack

ENDPOINT = "AWS_ENDPOINT_URL"


def write_env_vars(stack: LocalStack, file: Path) -> None:
    """Write the variables of each function to a file, by logical id.

    Raises:
        TemplateError: a function does not declare AWS_ENDPOINT_URL, or the file cannot be written.
    """
    text = json.dumps(env_vars(stack), indent=2)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise TemplateError(f"{file} cannot be written: {error}") from error


def env_vars(stack: LocalStack) -> Mapping[str, Mapping[str, str]]:
    """Return the variables of each function in the template, by logical id.

    `sam local` ignores conditions: a function whose condition is false gets the endpoint and nothing else.

    Raises:
        TemplateError: a function does not declare AWS_ENDPOINT_URL.
    """
    resources = stack.template.section("Resources").items()
    functions = {name: entry for name, entry in resources if entry["Type"] == "AWS::Lambda::Function"}
    return {name: _variables(name, entry, stack) for name, entry in functions.items()}


def _variables(name: str, entry: Mapping[str, Any], stack: LocalStack) -> Mapping[str, str]:
    declared: Mapping[str, Any] = entry["Properties"].get("Environment", {}).get("Variables", {})
    if ENDPOINT not in declared:
        raise TemplateError(
            f"{name} does not declare the variable {ENDPOINT}, so `sam local` would let it call the real AWS: put "
            f"{ENDPOINT}: !Ref AWS::NoValue into Globals.Function.Environment.Variables."
        )
    function = stack.functions.get(name)
    known = function.settings.variables if function else {}
    return {variable: known[variable] for variable in declared if variable in known} | {ENDPOINT: stack.services_url}
