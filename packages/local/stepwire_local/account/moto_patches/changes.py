"""Patches of Systems Manager and Step Functions: changes reach EventBridge, and values that AWS refuses are refused."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moto.events.models import events_backends
from moto.ssm.exceptions import ValidationException
from moto.ssm.models import SimpleSystemManagerBackend, ssm_backends
from moto.stepfunctions.parser.models import StepFunctionsParserBackend

_Replace = Callable[[object, str, object], None]
_SMALLEST_TIER = "Standard"
_LARGEST_VALUES = {_SMALLEST_TIER: 4096, "Advanced": 8192, "Intelligent-Tiering": 8192}  # bytes
_REFERENCE = re.compile(r"\{\{.*\}\}")


def changes_of_parameters_are_events(replace: _Replace) -> None:
    """Patch: Put the event on the default bus.

    Defect: Systems Manager sends no "Parameter Store Change" when a parameter is created, updated or deleted.
    """
    put: Any = SimpleSystemManagerBackend.put_parameter
    delete: Any = SimpleSystemManagerBackend.delete_parameter
    delete_several: Any = SimpleSystemManagerBackend.delete_parameters

    def put_parameter(self: Any, name: str, *rest: Any, **named: Any) -> Any:
        made = put(self, name, *rest, **named)
        _publish_parameter_change(self, name, made.parameter_type, "Create" if made.version == 1 else "Update")
        return made

    def delete_parameter(self: Any, name: str) -> Any:
        gone = delete(self, name)
        _publish_parameter_change(self, name, "String", "Delete")
        return gone

    def delete_parameters(self: Any, names: list[str]) -> Any:
        gone = delete_several(self, names)
        for name in gone:
            _publish_parameter_change(self, name, "String", "Delete")
        return gone

    replace(SimpleSystemManagerBackend, "put_parameter", put_parameter)
    replace(SimpleSystemManagerBackend, "delete_parameter", delete_parameter)
    replace(SimpleSystemManagerBackend, "delete_parameters", delete_parameters)


def values_of_parameters_have_a_limit(replace: _Replace) -> None:
    """Patch: Refuse a value that is larger than its tier allows.

    Defect: a value of any size is stored, and the deployment of a manifest that AWS refuses succeeds.
    """
    put: Any = SimpleSystemManagerBackend.put_parameter

    def put_parameter(
        self: Any, name: str, description: str, value: str, *rest: Any, tier: str | None, **named: Any
    ) -> Any:
        its_tier = tier or _SMALLEST_TIER
        most = _LARGEST_VALUES[its_tier]
        if len(value.encode()) > most:
            raise ValidationException(f"{its_tier} tier parameters support a maximum parameter value of {most} bytes.")
        return put(self, name, description, value, *rest, tier=tier, **named)

    replace(SimpleSystemManagerBackend, "put_parameter", put_parameter)


def values_of_parameters_name_no_other(replace: _Replace) -> None:
    """Patch: Refuse a value with `{{name}}`.

    Defect: it is stored, and the deployment of a manifest that AWS refuses succeeds.
    """
    put: Any = SimpleSystemManagerBackend.put_parameter

    def put_parameter(self: Any, name: str, description: str, value: str, *rest: Any, **named: Any) -> Any:
        if _REFERENCE.search(value):
            raise ValidationException('Parameter value can\'t nest another parameter. Do not use "{{}}" in the value.')
        return put(self, name, description, value, *rest, **named)

    replace(SimpleSystemManagerBackend, "put_parameter", put_parameter)


def changes_of_tags_are_events(replace: _Replace) -> None:
    """Patch: Put the event on the default bus.

    Defect: Step Functions sends no "Tag Change on Resource" when a state machine gets or loses a tag.
    """
    tag: Any = StepFunctionsParserBackend.tag_resource
    untag: Any = StepFunctionsParserBackend.untag_resource

    def tag_resource(self: Any, arn: str, tags: Mapping[str, str]) -> None:
        tag(self, arn, tags)
        _publish_tag_change(self, arn, list(tags))

    def untag_resource(self: Any, arn: str, tag_keys: list[str]) -> None:
        untag(self, arn, tag_keys)
        _publish_tag_change(self, arn, tag_keys)

    replace(StepFunctionsParserBackend, "tag_resource", tag_resource)
    replace(StepFunctionsParserBackend, "untag_resource", untag_resource)


def _publish_parameter_change(backend: Any, name: str, kind: str, operation: str) -> None:
    arn = f"arn:aws:ssm:{backend.region_name}:{backend.account_id}:parameter{name}"
    _publish(backend, "aws.ssm", "Parameter Store Change", [arn], {"name": name, "type": kind, "operation": operation})


def _publish_tag_change(backend: Any, arn: str, keys: list[str]) -> None:
    now = backend.tagger.get_tag_dict_for_resource(arn)
    detail = {"changed-tag-keys": keys, "service": "states", "resource-type": "stateMachine", "tags": now}
    _publish(backend, "aws.tag", "Tag Change on Resource", [arn], detail)


def _publish(backend: Any, source: str, kind: str, resources: list[str], detail: Mapping[str, Any]) -> None:
    entry = {"Source": source, "DetailType": kind, "Resources": resources, "Detail": json.dumps(detail)}
    events_backends[backend.account_id][backend.region_name].put_events([entry])


def forget(names: Iterable[str], account: str, region: str) -> None:
    """Remove parameters without an event: their stack is being deleted, and its functions with it."""
    parameters: Any = ssm_backends[account][region]._parameters  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    for name in names:
        parameters.pop(name, None)


PATCHES = (
    changes_of_parameters_are_events,
    changes_of_tags_are_events,
    values_of_parameters_have_a_limit,
    values_of_parameters_name_no_other,
)
