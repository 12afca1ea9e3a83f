"""Check the manifests that templates serve or register, and that the state machines are there which they name.

    python -m tests.template.manifests TEMPLATE...

A manifest in the folder tools/ of a function names a state machine of the function's STATE_MACHINES, or an ARN. A
manifest in a parameter `.../tools/<name>` is checked whole, with the resources of its template in place of ${...}.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from stepwire.catalog.tools import ARN_PATTERN
from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.reading import read_manifest
from stepwire_local.cloudformation.template import read

_MACHINES: Final = ("AWS::Serverless::StateMachine", "AWS::StepFunctions::StateMachine")
_PLACE: Final = re.compile(r"\$\{([A-Za-z0-9:.]+)\}")
_ARN: Final = "arn:aws:states:eu-central-1:123456789012:stateMachine:"


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with the manifests of a template."""
    resources: dict[str, dict[str, Any]] = read(path)["Resources"]
    return [fault for name, one in resources.items() for fault in _faults(path, name, one, resources)]


def _faults(path: Path, name: str, resource: dict[str, Any], resources: dict[str, Any]) -> Iterator[str]:
    properties: JsonObject = resource.get("Properties") or {}
    if resource["Type"] == "AWS::Serverless::Function":
        yield from _unknown_machines(path.parent / str(properties.get("CodeUri", "")) / "tools", properties)
    if resource["Type"] == "AWS::SSM::Parameter" and "/tools/" in json.dumps(properties.get("Name", "")):
        yield from (f"{path}: {name}: {fault}" for fault in _registered_faults(properties["Value"], resources))


def _unknown_machines(folder: Path, properties: dict[str, Any]) -> Iterator[str]:
    told: Any = as_object(as_object(properties.get("Environment")).get("Variables")).get("STATE_MACHINES", "{}")
    known: dict[str, str] = json.loads(as_object(told).get("Fn::Sub", told))
    for path in sorted(folder.glob("*.yaml")):
        named = (one.name for one in read_manifest(path.read_text(encoding="utf-8")).machines)
        for machine in named:
            if machine not in known and not ARN_PATTERN.fullmatch(machine):
                names = ", ".join(sorted(known)) or "none"
                fault = f"{machine!r} is neither an ARN nor a name in STATE_MACHINES (known: {names})"
                yield f"{path}: state_machine: {fault}"


def _registered_faults(value: Any, resources: dict[str, Any]) -> Iterator[str]:
    text: Any = as_object(value).get("Fn::Sub", value)
    if isinstance(text, list):
        text = cast(list[Any], text)[0]
    if not isinstance(text, str):
        return  # made by another function: only the deployed one can be checked
    try:
        machines = read_manifest(_PLACE.sub(lambda found: _stand_in(found[1], resources), text)).machines
    except CatalogError as error:
        yield from str(error).split("\n")
        return
    for machine in (one.name for one in machines):
        if machine.startswith("arn:") and not ARN_PATTERN.fullmatch(machine):
            yield f"state_machine: {machine[:200]!r} is no state machine's name or ARN"


def _stand_in(name: str, resources: dict[str, Any]) -> str:
    logical_id, _, attribute = name.partition(".")
    if resources.get(logical_id, {}).get("Type") not in _MACHINES:
        return "x"
    return logical_id if attribute == "Name" else f"{_ARN}{logical_id}"


def main(templates: list[str]) -> int:
    """Print what is wrong with the manifests of some templates."""
    faults = [fault for template in templates for fault in faults_of(Path(template))]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
