"""What the AWS services that a task may call take: types and choices, from botocore's service models.

Nothing is called and no credentials are needed: the models are files of botocore. A service that it does not know says
nothing of its parameters.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from stepwire_cli.wrap.reads import ANY, FLAG, LIST, NUMBER, OBJECT, TEXT, WHOLE, Use

if TYPE_CHECKING:
    from botocore.model import OperationModel, Shape
    from botocore.session import Session

_RESOURCE: Final = re.compile(r"arn:[^:]*:states:[^:]*:[^:]*:(aws-sdk:)?(?P<service>[\w-]+):(?P<action>\w+)(\.[\w:]+)?")
# What Step Functions calls otherwise than botocore does.
_NAMES: Final = {
    "cloudwatchlogs": "logs",
    "elasticloadbalancingv2": "elbv2",
    "eventbridge": "events",
    "sfn": "stepfunctions",
    "states": "stepfunctions",
}
_TYPES: Final = {
    "string": TEXT,
    "timestamp": TEXT,
    "blob": TEXT,
    "integer": WHOLE,
    "long": WHOLE,
    "float": NUMBER,
    "double": NUMBER,
    "boolean": FLAG,
    "list": LIST,
    "map": OBJECT,
    "structure": OBJECT,
}
# Text for the service, any JSON for Step Functions, which writes it as text.
_JSON_TEXTS: Final = frozenset(
    {"Input", "MessageBody", "Message", "Detail", "Payload", "Body", "RequestBody", "ApiEndpoint", "SecretString"}
)
_MOST_CHOICES: Final = 30


@dataclass(frozen=True)
class Member:
    """One parameter of a service, or a part of one."""

    shape: "Shape | None"
    name: str = ""

    def member(self, name: str) -> "Member":
        """Return a member of an object."""
        if self.shape is None or self.name in _JSON_TEXTS:
            return Member(None)
        if self.shape.type_name == "map":
            return Member(getattr(self.shape, "value", None))
        members: dict[str, Shape] = getattr(self.shape, "members", {})
        known = {one.lower(): shape for one, shape in members.items()}  # Step Functions writes them in PascalCase
        return Member(known.get(name.lower()), name)

    def item(self) -> "Member":
        """Return the items of a list."""
        return Member(getattr(self.shape, "member", None))

    def use(self) -> Use:
        """Return what the service does with a value in this place."""
        if self.shape is None or self.name in _JSON_TEXTS:
            return Use(must=True, passed_on=True)
        kind = self.shape.type_name
        is_whole = kind in ("structure", "map", "list")
        choices = tuple(cast(list[str], getattr(self.shape, "enum", None) or []))
        return Use(
            must=True,
            types=_TYPES.get(kind, ANY),
            needed=kind in _TYPES,
            allowed=choices if 0 < len(choices) <= _MOST_CHOICES else (),
            passed_on=is_whole,
        )


def parameters_of(resource: object) -> Member | None:
    """Return what the service of a task's resource takes; None if it is not known."""
    found = _RESOURCE.fullmatch(resource) if isinstance(resource, str) else None
    if found is None or (found["service"], found["action"]) == ("lambda", "invoke"):
        return None
    model = _operation(found["service"], found["action"])
    return Member(model.input_shape) if model is not None else None


@cache
def _operation(service: str, action: str) -> "OperationModel | None":
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - only definitions that call services need it

    try:
        model = _session().get_service_model(_NAMES.get(service, service))
        by_name = {name.lower(): name for name in model.operation_names}
        name = by_name.get(action.lower())
        return None if name is None else model.operation_model(name)
    except BotoCoreError:
        return None


@cache
def _session() -> "Session":
    from botocore.session import Session  # noqa: PLC0415 - as above

    return Session()
