"""Turn the template that `sam build` wrote into one that deploys without this repository.

The rule: the template of a release needs nothing but CloudFormation. It is one file, so what it includes is in it, and
it names its zip files by a bucket and a prefix that are parameters. So the command, a pipeline, CDK, Terraform and a
nested stack deploy the same text.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import boto3
import yaml
from samtranslator.parser.parser import Parser  # pyright: ignore[reportMissingTypeStubs] - it has none
from samtranslator.translator.translator import Translator  # pyright: ignore[reportMissingTypeStubs] - it has none
from samtranslator.yaml_helper import yaml_parse  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType] - it has none

from layers.artifacts import CONTENTS

BUCKET: Final = "ArtifactBucket"
PREFIX: Final = "ArtifactPrefix"
VERSION: Final = "Version"
_PARAMETERS: Final[Mapping[str, Any]] = {
    BUCKET: {
        "Type": "String",
        "AllowedPattern": "[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
        "ConstraintDescription": "the name of a bucket",
        "Description": "Bucket, in this region, that holds the zip files of this release.",
    },
    PREFIX: {
        "Type": "String",
        "Default": "stepwire/",
        "AllowedPattern": "([^/]+/)*",
        "ConstraintDescription": "a prefix that ends in /",
        "Description": "Start of the keys of the zip files in the bucket.",
    },
}


def folders_of(build: Path) -> dict[str, Path]:
    """Return the folder that was built for each function and layer, by the name of the resource."""
    resources = _read(build / "template.yaml")["Resources"]
    return {
        name: build / body["Properties"][CONTENTS[body["Type"]]]
        for name, body in resources.items()
        if body.get("Type") in CONTENTS  # an included file has no type
    }


def release_template(build: Path, files: Mapping[str, str], version: str) -> str:
    """Return the template of a release, as YAML.

    Args:
        build: the folder that `sam build` wrote to.
        files: the name of the zip file of each function and layer, by the name of the resource.
        version: of the release; the stack has it as an output.
    """
    template = copy.deepcopy(_read(build / "template.yaml"))
    resources = template["Resources"]
    if (included := resources.pop("Fn::Transform", None)) is not None:
        resources.update(_read(build / included["Parameters"]["Location"]))
    for name, file in files.items():
        body = resources[name]
        key = {"Fn::Sub": f"${{{PREFIX}}}{file}"}
        body["Properties"][CONTENTS[body["Type"]]] = {"Bucket": {"Ref": BUCKET}, "Key": key}
        body.pop("Metadata", None)  # how and where SAM built it
    template["Parameters"].update(copy.deepcopy(dict(_PARAMETERS)))
    template["Metadata"].pop("cfn-lint", None)
    template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"].append(
        {"Label": {"default": "Where the files of the release are"}, "Parameters": [BUCKET, PREFIX]}
    )
    template["Outputs"][VERSION] = {"Description": "Version of Stepwire.", "Value": version}
    # A text that YAML 1.1 reads as something else, such as "on", keeps its quotes.
    return yaml.safe_dump(template, sort_keys=False, allow_unicode=True, width=10_000)


def created_by(template: str) -> list[dict[str, str]]:
    """Return the name, the type and the condition, if any, of each resource that CloudFormation makes of a template."""
    source = cast(dict[str, Any], yaml_parse(template))
    values = {name: one.get("Default", "") for name, one in source["Parameters"].items()}
    session = boto3.session.Session(region_name="us-east-1")  # any: names and types are the same everywhere
    made: dict[str, Any] = Translator({}, Parser(), boto_session=session).translate(source, values)
    return [
        {"name": name, "type": one["Type"], **({"condition": one["Condition"]} if "Condition" in one else {})}
        for name, one in sorted(made["Resources"].items())
    ]


def _read(file: Path) -> dict[str, Any]:
    return cast(dict[str, Any], yaml_parse(file.read_text(encoding="utf-8")))
