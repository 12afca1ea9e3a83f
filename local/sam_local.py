"""The file that `sam local --env-vars` gives to its containers: what the template sets, as it is in the running stack.

The rule: `sam local` hands a container no variable that the template does not declare, and the developer's own keys. So
a function that does not declare AWS_ENDPOINT_URL would take its calls to the real AWS: such a template is refused.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.errors import TemplateError
from local.stack import LocalStack

ENDPOINT = "AWS_ENDPOINT_URL"


def write_env_vars(stack: LocalStack, file: Path) -> None:
    """Write the variables of each function of the template, by its logical id.

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
    """Return the variables of each function of the template, by its logical id.

    `sam local` knows no conditions: a function whose condition does not hold gets the endpoint, and nothing else.

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
