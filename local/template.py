"""A SAM template as plain CloudFormation, made offline, and where its code lies on this disk.

The rule: paths in a template are relative to the template's own folder. The translator wants code in S3, so a local
folder is given to it as `s3://local/<logical id>` and looked up under that key later. It asks boto3 for a region, so it
runs inside the simulated account.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from samtranslator import yaml_helper  # pyright: ignore[reportMissingTypeStubs]
from samtranslator.model.exceptions import InvalidDocumentException  # pyright: ignore[reportMissingTypeStubs]
from samtranslator.translator.transform import transform  # pyright: ignore[reportMissingTypeStubs]

from local.errors import TemplateError

_BUCKET = "local"
_CODE_PROPERTY = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


@dataclass(frozen=True)
class Template:
    """A translated template."""

    path: Path
    body: Mapping[str, Any]
    folders: Mapping[str, Path]  # of code, by the key that the translated resource has

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a top-level section, empty where the template has none."""
        return self.body.get(name) or {}


def load(path: Path, parameters: Mapping[str, str]) -> Template:
    """Read and translate a template; the translator needs the values of parameters to decide some things.

    Raises:
        TemplateError: it is missing, not YAML, or SAM does not accept it.
    """
    parsed = _parse(path, cast("Any", yaml_helper).yaml_parse)
    if not isinstance(parsed, dict) or "Resources" not in parsed:
        raise TemplateError(f"{path} is not a template: it has no Resources.")
    source = cast("dict[str, Any]", parsed)
    folders = _localise(source, path.parent)
    return Template(path, _translate(path, source, parameters), folders)


def _parse(path: Path, parser: Any) -> Any:
    try:
        return parser(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TemplateError(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path} cannot be read: {error}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise TemplateError(f"{path} is not YAML: {' '.join(str(error).split())}") from error


def _localise(source: dict[str, Any], base: Path) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    shared: str | None = source.get("Globals", {}).get("Function", {}).get("CodeUri")
    for name, resource in source["Resources"].items():
        properties: dict[str, Any] = resource.setdefault("Properties", {})
        kind = resource.get("Type", "")
        if kind in _CODE_PROPERTY:
            folders[name] = _take_folder(name, properties, _CODE_PROPERTY[kind], base, shared)
        if kind == "AWS::Serverless::StateMachine" and "DefinitionUri" in properties:
            _inline_definition(name, properties, base)
    return folders


def _take_folder(name: str, properties: dict[str, Any], code: str, base: Path, shared: str | None) -> Path:
    uri = properties.get(code, shared)
    if not isinstance(uri, str) or uri.startswith("s3://"):
        raise TemplateError(f"{name}: the local stack serves code from a folder on this disk; {code} is {uri!r}.")
    folder = (base / uri).resolve()
    if not folder.is_dir():
        raise TemplateError(f"{name}: {code} {uri} is not a folder.")
    properties[code] = f"s3://{_BUCKET}/{name}"
    return folder


def _inline_definition(name: str, properties: dict[str, Any], base: Path) -> None:
    uri = properties.pop("DefinitionUri")
    if not isinstance(uri, str) or uri.startswith("s3://"):
        raise TemplateError(f"{name}: the local stack serves definitions from this disk; DefinitionUri is {uri!r}.")
    properties["Definition"] = _parse(base / uri, yaml.safe_load)  # JSON is YAML too


class _NoManagedPolicies:
    """What the translator asks for policy names that it does not know: in AWS, a call to IAM."""

    def load(self) -> dict[str, str]:
        return {}


# It warns of its own metrics, which nobody here collects.
logging.getLogger("samtranslator").setLevel(logging.ERROR)


def _translate(path: Path, source: dict[str, Any], given: Mapping[str, str]) -> Mapping[str, Any]:
    declared: dict[str, Any] = source.get("Parameters", {})
    values = {name: given.get(name, entry.get("Default", "")) for name, entry in declared.items()}
    try:
        return transform(source, values, cast("Any", _NoManagedPolicies()))
    except InvalidDocumentException as error:
        causes = "; ".join(str(cause.message) for cause in error.causes)
        raise TemplateError(f"{path}: {causes or error.message}") from error
