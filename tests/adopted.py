"""The tests' own stack of workflows, `tests/adopter`, and the manifests that it registers."""

import re
from pathlib import Path
from typing import Any, Final

from stepwire.manifests.yaml_text import read_template
from tests.kits import state_machine_arn

ROOT: Final = Path(__file__).parents[1]
ADOPTER: Final = ROOT / "tests" / "adopter" / "template.yaml"


def registered(template: Path) -> dict[str, str]:
    """Return the manifests that a template registers, with ARNs of state machines, by the names of the tools."""
    resources: dict[str, Any] = read_template(template.read_text(encoding="utf-8"))["Resources"]
    values = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::SSM::Parameter"]
    return {_text(one["Name"]).rpartition("/")[2]: _with_arns(_text(one["Value"])) for one in values}


def write_manifests(folder: Path) -> Path:
    """Write the manifests of the tests' workflows into a folder, for the compiler; return it."""
    folder.mkdir(exist_ok=True)
    for name, text in registered(ADOPTER).items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def _text(value: Any) -> str:
    return value if isinstance(value, str) else value["Fn::Sub"]


def _with_arns(text: str) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: state_machine_arn(found[1]), text)
