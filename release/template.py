"""Turn the core's template and the parts of extras into documents that deploy without this repository.

The rule: the template of a release needs nothing but CloudFormation. Put together, it is one file, so what it includes
is in it, and it names its zip files by a bucket and a prefix that are parameters. So the command, a pipeline, CDK,
Terraform and a nested stack deploy the same text.
"""

import copy
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, cast

import boto3
from samtranslator.parser.parser import Parser  # pyright: ignore[reportMissingTypeStubs] - it has none
from samtranslator.translator.translator import Translator  # pyright: ignore[reportMissingTypeStubs] - it has none
from samtranslator.yaml_helper import yaml_parse  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType] - it has none

from layers.artifacts import CONTENTS
from stepwire.json_text import JsonObject
from stepwire_cli.deployment.parts import extras_of, files_of, read_core, read_part, written

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


def core_template(project: Path, files: Mapping[str, str], version: str) -> str:
    """Return the core's template of a release, as YAML.

    Args:
        project: the folder with the core's template.
        files: the name of the zip file of each function and layer, by the name of the resource.
        version: of the release; the stack has it as an output.
    """
    template = read_core(project)
    _name_code(template, files)
    template["Parameters"].update(copy.deepcopy(dict(_PARAMETERS)))
    template["Metadata"].pop("cfn-lint", None)
    template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"].append(
        {"Label": {"default": "Where the files of the release are"}, "Parameters": [BUCKET, PREFIX]}
    )
    template["Outputs"][VERSION] = {"Description": "Version of Stepwire.", "Value": version}
    return written(template)


def parts_of(project: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of all extras of a project, by their paths in it; `files` is as for the core's template."""
    found = dict[str, str]()
    for path in files_of(project, extras_of(project)):
        part = read_part(path)
        _name_code(part, files)
        found[path.relative_to(project).as_posix()] = written(part)
    return found


def _name_code(template: JsonObject, files: Mapping[str, str]) -> None:
    """Have the functions and layers that a document has the code of name their zip files."""
    for name, body in template.get("Resources", {}).items():
        properties = body.get("Properties", {})
        for code in {*CONTENTS.values()} & properties.keys():
            key = {"Fn::Sub": f"${{{PREFIX}}}{files[name]}"}
            properties[code] = {"Bucket": {"Ref": BUCKET}, "Key": key}
            body.pop("Metadata", None)  # how SAM builds it


def created_by(template: JsonObject) -> list[dict[str, str]]:
    """Return what CloudFormation makes of a template: name, type, condition if any, and of which resource of it.

    SAM names what it makes for a resource, such as a role, after that.
    """
    source = copy.deepcopy(template)  # the translator changes it
    values = {name: one.get("Default", "") for name, one in source["Parameters"].items()}
    session = boto3.session.Session(region_name="us-east-1")  # any: names and types are the same everywhere
    made: dict[str, Any] = Translator({}, Parser(), boto_session=session).translate(source, values)
    return [
        {
            "name": name,
            "type": one["Type"],
            **({"condition": one["Condition"]} if "Condition" in one else {}),
            **({"of": of} if (of := _of(name, source["Resources"])) else {}),
        }
        for name, one in sorted(made["Resources"].items())
    ]


def _of(name: str, resources: Collection[str]) -> str:
    return max((one for one in resources if name.startswith(one)), key=len, default="")


def _read(file: Path) -> dict[str, Any]:
    return cast(dict[str, Any], yaml_parse(file.read_text(encoding="utf-8")))
