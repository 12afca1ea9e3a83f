"""Dynamic references of CloudFormation: `{{resolve:ssm:NAME}}` stands for the value of an SSM parameter."""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from botocore.exceptions import ClientError

from stepwire_local.errors import TemplateError

_REFERENCE = re.compile(r"\{\{resolve:(?P<service>[a-z-]+):(?P<name>[^}]*)\}\}")


def resolve_dynamic(value: Any, client: Callable[[str], Any]) -> Any:
    """Return a value with every dynamic reference in its texts replaced.

    Raises:
        TemplateError: a parameter does not exist, or the reference is to another service.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: _parameter(match, client), value)
    if isinstance(value, list):
        return [resolve_dynamic(entry, client) for entry in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {name: resolve_dynamic(entry, client) for name, entry in cast("Mapping[str, Any]", value).items()}
    return value


def _parameter(match: re.Match[str], client: Callable[[str], Any]) -> str:
    service, name = match["service"], match["name"]
    if service == "secretsmanager":  # AWS reads a secret for certain properties only; the local stack uses none
        return match[0]
    if service != "ssm":
        raise TemplateError(f"{match[0]}: the local stack resolves references to ssm only.")
    try:
        return client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    except ClientError:
        raise TemplateError(f"{match[0]}: there is no parameter {name}. Is the endpoint's stack there?") from None
