"""Secrets Manager secrets, given or generated at the start."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from stepwire_local.cloudformation.resources.kinds import Created, Kind, Resource, World, picked
from stepwire_local.errors import TemplateError


def _boolean(value: Any) -> bool:
    return str(value).lower() == "true"


# What GenerateSecretString says of the password itself; CloudFormation takes numbers and booleans as text too.
_PASSWORD: dict[str, Callable[[Any], Any]] = {
    "ExcludeCharacters": str,
    "ExcludeLowercase": _boolean,
    "ExcludeNumbers": _boolean,
    "ExcludePunctuation": _boolean,
    "ExcludeUppercase": _boolean,
    "IncludeSpace": _boolean,
    "PasswordLength": int,
    "RequireEachIncludedType": _boolean,
}


def _secret(resource: Resource, world: World) -> Created:
    properties = resource.properties
    settings: dict[str, Any] = {"Name": properties.get("Name", world.name(resource)), **_value(resource, world)}
    arn: str = world.client("secretsmanager").create_secret(**settings, **picked(properties, ("Description",)))["ARN"]
    return Created(arn, {"Id": arn})


def _value(resource: Resource, world: World) -> dict[str, str]:
    """Return the value as a parameter of CreateSecret; empty for a secret without a value, as in AWS."""
    given, wanted = (resource.properties.get(name) for name in ("SecretString", "GenerateSecretString"))
    if given is not None and wanted is not None:
        raise TemplateError(f"{resource.logical_id}: either SecretString or GenerateSecretString, not both.")
    if wanted is not None:
        return {"SecretString": _generated(resource.logical_id, wanted, world)}
    return {} if given is None else {"SecretString": str(given)}


def _generated(logical_id: str, wanted: Mapping[str, Any], world: World) -> str:
    if unknown := sorted(set(wanted) - {*_PASSWORD, "GenerateStringKey", "SecretStringTemplate"}):
        raise TemplateError(f"{logical_id}: GenerateSecretString has no {', '.join(unknown)}.")
    settings = {name: kind(wanted[name]) for name, kind in _PASSWORD.items() if name in wanted}
    password: str = world.client("secretsmanager").get_random_password(**settings)["RandomPassword"]
    if "GenerateStringKey" not in wanted and "SecretStringTemplate" not in wanted:
        return password
    return json.dumps({**_template(logical_id, wanted), str(wanted.get("GenerateStringKey")): password})


def _template(logical_id: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if "GenerateStringKey" not in wanted or "SecretStringTemplate" not in wanted:
        raise TemplateError(f"{logical_id}: GenerateStringKey and SecretStringTemplate need each other.")
    try:
        return dict(json.loads(wanted["SecretStringTemplate"]))
    except (TypeError, ValueError):
        raise TemplateError(f"{logical_id}: SecretStringTemplate is not a JSON object.") from None


KINDS = {
    "AWS::SecretsManager::Secret": Kind(
        _secret,
        served=("Name", "SecretString", "GenerateSecretString"),
        harmless=("KmsKeyId",),
        note="secrets: no encryption, no rotation, generated at each start",
    ),
}
