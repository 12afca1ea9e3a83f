"""Translates a SAM template to plain CloudFormation offline, and locates its code on this disk.

The rule: paths in a template are relative to the template's folder. The translator expects code in S3, so it gets
`s3://local/<logical id>` for a local folder; that key leads back to the folder later. The translator asks boto3 for a
region, so it runs inside the simulated account. AWS::Include is served among resources.
"""

import json
import logging
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, cast

from samtranslator.model.exceptions import InvalidDocumentException  # pyright: ignore[reportMissingTypeStubs]
from samtranslator.translator import translator  # pyright: ignore[reportMissingTypeStubs]
from samtranslator.translator.transform import transform  # pyright: ignore[reportMissingTypeStubs]

from stepwire.manifests.yaml_text import read_template
from stepwire_local.cloudformation.definitions import read_definition
from stepwire_local.cloudformation.files import signature, unpacked
from stepwire_local.errors import TemplateError

_BUCKET = "local"
_SECTIONS: Final = ("Conditions", "Globals", "Mappings", "Outputs", "Parameters", "Rules")
_LOOP: Final = "Fn::ForEach::"
_LANGUAGES: Final = ("python", "nodejs")  # of functions that run here
_APIS = ("AWS::Serverless::Api", "AWS::Serverless::HttpApi")
_LOOPBACK: Final = "//127.0.0.1:"
_CODE_PROPERTY = {"AWS::Serverless::Function": "CodeUri", "AWS::Serverless::LayerVersion": "ContentUri"}


@dataclass(frozen=True)
class Template:
    """A translated template."""

    path: Path
    body: Mapping[str, Any]
    folders: Mapping[str, Path]  # of code, by the S3 key in the translated resource
    definitions: Sequence[Path]  # files of state machines
    signatures: Mapping[str, str]  # of the code in the folders, by the same key
    included: Sequence[Path]  # files with further resources

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a top-level section; empty if the template has none."""
        return self.body.get(name) or {}


def load(path: Path, parameters: Mapping[str, str], *, own: Mapping[str, str] | None = None) -> Template:
    """Return a translated template; parts of the translation depend on parameter values.

    `own` are values that differ from start to start, as given URLs of this machine do: a template that differs in
    nothing else is translated once. Functions and layers whose code is not on this disk are in no folder.

    Raises:
        TemplateError: the file is missing, not YAML, or not accepted by SAM.
    """
    source, included = _complete(path)
    definitions = [path.parent / uri for uri in _definition_uris(source)]
    folders = _localise(source, path.parent)
    signatures = {name: signature(folder) for name, folder in folders.items()}
    body = _translate(path, source, parameters, own or {})
    return Template(path, body, folders, definitions, signatures, included)


def read(path: Path) -> dict[str, Any]:
    """Return a template with the resources that it includes, before its translation.

    Raises:
        TemplateError: a file is missing, not YAML, or no template.
    """
    return _complete(path)[0]


def declared_parameters(path: Path) -> Mapping[str, Any]:
    """Return the section Parameters of a template, without translating it.

    Raises:
        TemplateError: the file is missing, not YAML, or no template.
    """
    return _source(path).get("Parameters") or {}


def declared_outputs(path: Path) -> Mapping[str, Any]:
    """Return the section Outputs of a template, without translating it.

    Raises:
        TemplateError: the file is missing, not YAML, or no template.
    """
    return _source(path).get("Outputs") or {}


def parse(path: Path) -> Any:
    """Return the content of a YAML file, with intrinsic functions in their long form.

    Raises:
        TemplateError: the file is missing, unreadable or not YAML.
    """
    return _parsed(path, lambda text: pickle.loads(_pickled(text)))  # noqa: S301 - our own


def _parsed(path: Path, read: Callable[[str], Any]) -> Any:
    try:
        return read(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise TemplateError(f"{path} does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path} cannot be read: {error}") from error
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else "YAML"
        raise TemplateError(f"{path} is not {kind}: {' '.join(str(error).split())}") from error


@lru_cache(maxsize=32)
def _pickled(text: str) -> bytes:
    """Return the content of YAML as pickle: a start reads a template three times, and changes what it has read."""
    return pickle.dumps(read_template(text))


def _source(path: Path) -> dict[str, Any]:
    parsed = parse(path)
    resources: Any = cast("dict[str, Any]", parsed).get("Resources") if isinstance(parsed, dict) else None
    if not isinstance(resources, dict) or not resources:
        raise TemplateError(f"{path} is not a template: it has no Resources.")
    for name, entry in cast("dict[str, Any]", resources).items():
        if name != "Fn::Transform":
            _check_resource(path, name, entry)
    source = cast("dict[str, Any]", parsed)
    for name in _SECTIONS:
        _check_object(path, name, source)
    shared: dict[str, Any] = source.get("Globals", {})
    for name in shared:
        _check_object(f"{path}: Globals", name, shared)
    return source


def _check_resource(path: Path, name: str, entry: Any) -> None:
    if name.startswith(_LOOP):
        raise TemplateError(
            f"{path}: {name}: loops of AWS::LanguageExtensions are not served; write its resources out."
        )
    if not isinstance(entry, dict) or not isinstance(cast("dict[str, Any]", entry).get("Type"), str):
        raise TemplateError(f"{path}: the resource {name} has no Type.")
    _check_object(f"{path}: {name}", "Properties", cast("dict[str, Any]", entry))


def _check_object(where: Path | str, name: str, holder: Mapping[str, Any]) -> None:
    if not isinstance(holder.get(name, {}), dict):
        found = "empty" if holder[name] is None else "no object"
        raise TemplateError(f"{where}: {name} is {found}, which CloudFormation refuses: fill it or leave it out.")


def _complete(path: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return a template with what it includes, and the included files."""
    source = _source(path)
    resources: dict[str, Any] = source["Resources"]
    found = resources.pop("Fn::Transform", None)
    if found is None:
        return source, []
    file = path.parent / _included_location(path, found)
    more = parse(file)
    if not isinstance(more, dict):
        raise TemplateError(f"{file} has no resources to include in {path}.")
    if twice := sorted(set(resources) & set(cast("dict[str, Any]", more))):
        raise TemplateError(f"{file}: {', '.join(twice)} is in {path} too.")
    return {**source, "Resources": resources | more}, [file]


def _included_location(path: Path, found: Any) -> str:
    match found:
        case {"Name": "AWS::Include", "Parameters": {"Location": str(location)}} if not location.startswith("s3://"):
            return location
        case _:
            raise TemplateError(
                f"{path}: of Fn::Transform, the local stack serves AWS::Include of one file on this disk."
            )


def _definition_uris(source: Mapping[str, Any]) -> list[str]:
    found = [entry.get("Properties", {}).get("DefinitionUri") for entry in source["Resources"].values()]
    return [uri for uri in found if _is_here(uri)]


def _localise(source: dict[str, Any], base: Path) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    # Where a function names no folder, `sam build` takes the template's.
    shared: object = source.get("Globals", {}).get("Function", {}).get("CodeUri", ".")
    for name, resource in source["Resources"].items():
        properties: dict[str, Any] = resource.setdefault("Properties", {})
        kind = resource.get("Type", "")
        if kind in _CODE_PROPERTY and _runs_elsewhere(kind, properties, source):
            _leave_out_code(name, properties)
        elif kind in _CODE_PROPERTY:
            folders |= _take_folder(name, properties, _CODE_PROPERTY[kind], base, shared)
        folders |= _take_code(name, properties, base) if kind == "AWS::Lambda::Function" else {}
        if kind in _APIS:
            _take_routes(properties, base)
        if kind == "AWS::Serverless::StateMachine" and _is_here(properties.get("DefinitionUri")):
            _inline_definition(properties, base)
    return folders


def _take_code(name: str, properties: dict[str, Any], base: Path) -> dict[str, Path]:
    """Take a folder or an archive where S3 belongs, as `sam build` and `aws cloudformation package` do."""
    uri = properties.get("Code")
    if not isinstance(uri, str):
        return {}
    properties["Code"] = {"S3Bucket": _BUCKET, "S3Key": name}
    folder = unpacked((base / uri).resolve())
    return {name: folder} if folder.is_dir() else {}


def _take_routes(properties: dict[str, Any], base: Path) -> None:
    """Let the OpenAPI document of an API that is in a file on this disk be part of the template."""
    location: object = properties.get("DefinitionUri")
    match properties.get("DefinitionBody"):
        case {"Fn::Transform": {"Name": "AWS::Include", "Parameters": {"Location": included}}}:
            location = included
        case _:
            pass
    if _is_here(location):
        properties.pop("DefinitionUri", None)
        properties["DefinitionBody"] = parse(base / str(location))


def _runs_elsewhere(kind: str, properties: Mapping[str, Any], source: Mapping[str, Any]) -> bool:
    """Return whether the code of a function or a layer is none that could run here."""
    shared: Mapping[str, Any] = source.get("Globals", {}).get("Function", {})
    uri = properties.get(_CODE_PROPERTY[kind], shared.get("CodeUri"))
    is_afar = isinstance(uri, Mapping) or str(uri).startswith("s3://") or "InlineCode" in properties
    if kind == "AWS::Serverless::LayerVersion":
        return is_afar
    one = {**shared, **properties}
    return is_afar or one.get("PackageType") == "Image" or not str(one.get("Runtime", "python")).startswith(_LANGUAGES)


def _leave_out_code(name: str, properties: dict[str, Any]) -> None:
    """Let SAM accept a function or a layer whose code is not needed."""
    if "ContentUri" in properties:
        properties["ContentUri"] = f"s3://{_BUCKET}/{name}"
    elif properties.get("PackageType") == "Image":
        properties["ImageUri"] = f"{name.lower()}:local"
    elif "InlineCode" not in properties:
        properties["CodeUri"] = f"s3://{_BUCKET}/{name}"


def _take_folder(name: str, properties: dict[str, Any], code: str, base: Path, shared: object) -> Mapping[str, Path]:
    uri = properties.get(code, shared)
    folder = unpacked((base / uri).resolve()) if isinstance(uri, str) else None
    if folder is None or not folder.is_dir():
        _leave_out_code(name, properties)
        return {}
    properties[code] = f"s3://{_BUCKET}/{name}"
    return {name: folder}


def _is_here(uri: object) -> bool:
    return isinstance(uri, str) and not uri.startswith("s3://")


def _inline_definition(properties: dict[str, Any], base: Path) -> None:
    uri = properties.pop("DefinitionUri")
    properties["Definition"] = _parsed(base / uri, read_definition)


class _NoManagedPolicies:
    """Answers the translator's lookup of unknown managed policies: in AWS, a call to IAM."""

    def load(self) -> dict[str, str]:
        return {}


# It would read and check its templates of policies, which never change, for each template of ours.
_translator: Any = translator
_translator.make_policy_template_for_function_plugin = cache(_translator.make_policy_template_for_function_plugin)

# It logs warnings about its own metrics, which are not collected here.
logging.getLogger("samtranslator").setLevel(logging.ERROR)


def _translate(
    path: Path, source: dict[str, Any], given: Mapping[str, str], own: Mapping[str, str]
) -> Mapping[str, Any]:
    declared: dict[str, Any] = source.get("Parameters", {})
    passing = {name: value for name, value in {**own, **given}.items() if name not in given or _LOOPBACK in value}
    marks = {name: f"<own value of {name}>" for name in passing}
    known = {**given, **marks}
    values = {name: known.get(name, entry.get("Default", "")) for name, entry in declared.items()}
    try:
        text = _translated(json.dumps([source, values]))
    except InvalidDocumentException as error:
        causes = "; ".join(str(cause.message) for cause in error.causes)
        raise TemplateError(f"{path}: {causes or error.message}") from error
    for name, mark in marks.items():
        text = text.replace(mark, json.dumps(passing[name])[1:-1])
    return json.loads(text)


@lru_cache(maxsize=32)
def _translated(template_and_values: str) -> str:
    """Return the translation as JSON: whoever gets it may change it."""
    source, values = json.loads(template_and_values)
    return json.dumps(transform(source, values, cast("Any", _NoManagedPolicies())))
