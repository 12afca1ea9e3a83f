"""Patches of how a Task state calls another service."""
# ruff: noqa: SLF001 - the defects are in moto's private methods

import sys
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

from botocore.exceptions import UnknownServiceError
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service
from moto.stepfunctions.parser.asl.parse import asl_parser  # it imports every module that calls boto_client_for
from moto.stepfunctions.parser.asl.utils import boto_client
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

from stepwire_local.account.moto_patches.stubs import Answered
from stepwire_local.iam import permissions
from stepwire_local.iam.clients import plain_aws_client

_Replace = Callable[[object, str, object], None]

_lock = threading.Lock()


def tasks_share_their_clients(replace: _Replace) -> None:
    """Patch: Share one client per service and region, and make its calls under the role.

    Defect: Each Task state creates a boto3 client, which takes 10 ms or more, and the role of the state machine is
    not enforced.

    Ours: The client makes its calls under a role of this local stack.
    """
    assert asl_parser  # noqa: S101  # imported for what it imports
    original = boto_client.boto_client_for
    clients: dict[tuple[str, str], Any] = {}

    def boto_client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        with _lock:
            if (region, service) not in clients:
                clients[region, service] = plain_aws_client(service, region)
        role = permissions.registered(state_credentials.role_arn) if state_credentials else None
        return clients[region, service] if role is None else _Client(clients[region, service], role)

    for module in [module for name, module in sys.modules.items() if name.startswith("moto.stepfunctions")]:
        if getattr(module, "boto_client_for", None) is original:
            replace(module, "boto_client_for", boto_client_for)


def parameters_are_spelled_either_way(replace: _Replace) -> None:
    """Patch: Accept both spellings, and answer with Step Functions' responses in PascalCase.

    Defect: Parameters in PascalCase, which workflows use, raise KeyError for services whose API is in camelCase.
    """

    def normalise_parameters(
        self: Any,
        parameters: dict[str, Any],
        boto_service_name: str | None = None,
        service_action_name: str | None = None,
    ) -> None:
        service = boto_service_name or self._get_boto_service_name()
        action = service_action_name or self._get_boto_service_action()
        shape = _input_shape(service, action)
        for name in [name for name in parameters if shape and name not in shape]:
            if match := next((member for member in shape if member.lower() == name.lower()), None):
                parameters[match] = parameters.pop(name)

    def normalise_response(
        self: Any, response: Any, boto_service_name: str | None = None, service_action_name: str | None = None
    ) -> None:
        del service_action_name
        # The answer of a stub stays as it is.
        is_answered = isinstance(response, Answered) or not isinstance(response, dict)
        if not is_answered and (boto_service_name or self._get_boto_service_name()) == "stepfunctions":
            _respell(cast("dict[str, Any]", response))

    replace(state_task_service.StateTaskService, "_normalise_parameters", normalise_parameters)
    replace(state_task_service.StateTaskService, "_normalise_response", normalise_response)


def dynamodb_takes_plain_texts(replace: _Replace) -> None:
    """Patch: Take a text where an attribute's value belongs as one of type S, and leave out a null.

    Defect: `"Item": {"id.$": "$.id"}` and `"Item": {"id": null}`, which published workflows have, fail with "'str'
    object has no attribute 'items'" and its like. No page of AWS was found that says that they may stand so.

    Ours: Without such a page moto's authors cannot check it.
    """
    original: Any = cast("Any", state_task_service.StateTaskService)._normalise_parameters

    def normalise_parameters(
        self: Any,
        parameters: dict[str, Any],
        boto_service_name: str | None = None,
        service_action_name: str | None = None,
    ) -> None:
        original(self, parameters, boto_service_name, service_action_name)
        if (boto_service_name or self._get_boto_service_name()) == "dynamodb":
            for name in _ATTRIBUTES:
                if isinstance(values := parameters.get(name), dict):
                    given = cast("dict[str, Any]", values).items()
                    parameters[name] = {key: _attribute(value) for key, value in given if value is not None}

    replace(state_task_service.StateTaskService, "_normalise_parameters", normalise_parameters)


_ATTRIBUTES = ("Item", "Key", "ExpressionAttributeValues")


def _attribute(value: Any) -> Any:
    return {"S": value} if isinstance(value, str) else value


def dynamodb_tells_of_its_response(replace: _Replace) -> None:
    """Patch: Add SdkHttpMetadata and SdkResponseMetadata.

    Defect: The results of `dynamodb:putItem` and its like lack what workflows read to see whether they succeeded.
    """
    original: Any = cast("Any", state_task_service.StateTaskService)._normalise_response

    def normalise_response(
        self: Any, response: Any, boto_service_name: str | None = None, service_action_name: str | None = None
    ) -> None:
        original(self, response, boto_service_name, service_action_name)
        if isinstance(response, dict) and self.resource.service_name == "dynamodb":
            answered = cast("dict[str, Any]", response)
            answered.setdefault("SdkHttpMetadata", {"AllHttpHeaders": {}, "HttpHeaders": {}, "HttpStatusCode": 200})
            answered.setdefault("SdkResponseMetadata", {"RequestId": "local"})

    replace(state_task_service.StateTaskService, "_normalise_response", normalise_response)


def _respell(response: dict[str, Any]) -> None:
    spelled = {name[:1].upper() + name[1:]: _plain(value) for name, value in response.items()}
    response.clear()
    response.update(spelled)


class _Client:
    """A client whose calls are made under a role."""

    def __init__(self, client: Any, role: permissions.Role) -> None:
        self._client = client
        self._role = role

    def __getattr__(self, operation: str) -> Any:
        call = getattr(self._client, operation)

        def call_as_role(**parameters: Any) -> Any:
            with permissions.acting_as(self._role):
                return call(**parameters)

        return call_as_role


def _input_shape(service: str, action: str) -> Mapping[str, Any]:
    try:
        client = boto_client.boto_client_for(region="us-east-1", service=service)
    except UnknownServiceError:  # of Step Functions alone, such as `http`; only a stub answers for it
        return {}
    operation = client.meta.method_to_api_mapping.get(action)
    shape = client.meta.service_model.operation_model(operation).input_shape if operation else None
    return shape.members if shape else {}


def _plain(value: Any) -> Any:
    return to_json_str(value).strip('"') if isinstance(value, datetime) else value


PATCHES = (
    tasks_share_their_clients,
    parameters_are_spelled_either_way,
    dynamodb_takes_plain_texts,
    dynamodb_tells_of_its_response,
)
