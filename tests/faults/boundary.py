"""The boundary between our handlers and AWS: records every call that handlers make, and injects faults.

Faults are injected below botocore, so that its own retries run. All other calls are answered by a fake that a test
provides, or by moto. A call is one call to a client, however many attempts botocore makes for it.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeAlias, cast
from unittest.mock import Mock, patch

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError
from botocore.retries.quota import RetryQuota
from botocore.retries.standard import ExponentialBackoff
from moto.core.models import botocore_stubber

from stepwire.aws.clients import (
    dynamodb_client,
    events_client,
    patient_dynamodb_client,
    patient_step_functions_client,
    s3_client,
    secrets_manager_client,
    sqs_client,
    step_functions_client,
)
from tests.simulated.wire import answered, refused_by_s3, subject_of

Service: TypeAlias = Callable[[str, AWSPreparedRequest], AWSResponse | None]
"""Answers a call by the name of its operation; None passes it on to moto."""


class ProcessDied(BaseException):
    """The function's process has died: our code does not catch this, and nothing runs after it."""


class Fault(Enum):
    """The faults of a call."""

    THROTTLED = "throttled"
    TIMEOUT_BEFORE = "timeout before"
    """No response, and the call had no effect."""
    TIMEOUT_AFTER = "timeout after"
    """No response, but the call had its effect."""
    DENIED = "access denied"
    EXPIRED = "expired credential"
    INTERNAL = "internal error"
    DEATH_BEFORE = "death before"
    DEATH_AFTER = "death after"


@dataclass(frozen=True)
class Injection:
    """A fault at one call of an operation."""

    step: int
    """The index of the call, from 0."""
    fault: Fault
    lasts: bool
    """Whether the fault hits every attempt of the call, or only the first."""


_CODES: Final = {
    Fault.THROTTLED: (400, "ThrottlingException"),
    Fault.DENIED: (400, "AccessDeniedException"),
    Fault.EXPIRED: (400, "ExpiredTokenException"),
    Fault.INTERNAL: (500, "InternalServerError"),
}
_CODES_OF_S3: Final = {
    Fault.THROTTLED: (503, "SlowDown"),
    Fault.DENIED: (403, "AccessDenied"),
    Fault.EXPIRED: (400, "ExpiredToken"),
    Fault.INTERNAL: (500, "InternalError"),
}


@dataclass
class Boundary:
    """The clients of our handlers, and the faults of their calls."""

    calls: list[str] = field(default_factory=list[str])
    """The calls since the watch began: the operation and its subject."""
    services: dict[str, Service] = field(default_factory=dict[str, Service])
    """The fakes that answer before moto does, by service name as in `outages`."""
    outages: dict[str, Fault] = field(default_factory=dict[str, Fault])
    """The fault of every call to a service, until the entry is removed; "dynamodb", "sfn", "secrets-manager" ..."""
    refused_starts: int = 0
    """How many of the next starts are refused, as if a permission were missing."""
    injection: Injection | None = None
    weather: Callable[[str, str], Fault | None] | None = None
    """Chooses the fault of each attempt, by its service and its operation."""
    _is_watching: bool = False
    _latest: str = ""

    def __post_init__(self) -> None:
        self.dynamodb = self._watched(dynamodb_client())
        self.step_functions = self._watched(step_functions_client())
        # The functions for which no client waits have their own client of Step Functions.
        self.patient_dynamodb = self._watched(patient_dynamodb_client())
        self.patient_step_functions = self._watched(patient_step_functions_client())
        self.secrets = self._watched(secrets_manager_client())
        self.events = self._watched(events_client())
        self.queue = self._watched(sqs_client())
        self.objects = self._watched(s3_client())

    @contextmanager
    def watch(self, injection: Injection | None = None) -> Generator[None]:
        """Record the calls of an operation, and inject a fault at one of them."""
        self.calls.clear()
        self.injection, self._is_watching = injection, True
        try:
            yield
        finally:
            self.injection, self._is_watching, self._latest = None, False, ""

    def _watched(self, client: Any) -> Any:
        events = client.meta.events
        events.unregister(
            "before-send", botocore_stubber
        )  # botocore runs all handlers; moto's must not run if a fault has answered
        events.register_first("before-send", self._answer)
        return client

    def _answer(self, event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        service, operation = event_name.split(".")[1:3]
        fault = self._fault_of(operation, request) or self.outages.get(service) or self._refusal_of(operation)
        if fault is None and self.weather is not None:
            fault = self.weather(service, operation)
        return self._served(event_name, request) if fault is None else self._meet(fault, event_name, request)

    def step(self, name: str) -> Fault | None:
        """Record a step that is no call to AWS, and return its fault; None: it has none."""
        if not self._is_watching:
            return None
        self.calls.append(name)
        is_hit = self.injection is not None and self.injection.step == len(self.calls) - 1
        return self.injection.fault if self.injection is not None and is_hit else None

    def _fault_of(self, operation: str, request: AWSPreparedRequest) -> Fault | None:
        if not self._is_watching:
            return None
        invocation = str(cast(Any, request.headers["amz-sdk-invocation-id"]))
        is_first_try = invocation != self._latest
        if is_first_try:
            self._latest = invocation
            self.calls.append(f"{operation} {subject_of(request)}".strip())
        injection = self.injection
        if injection is None or injection.step != len(self.calls) - 1:
            return None
        return injection.fault if injection.lasts or is_first_try else None

    def _refusal_of(self, operation: str) -> Fault | None:
        if operation != "StartExecution" or not self.refused_starts:
            return None
        self.refused_starts -= 1
        return Fault.DENIED

    def _served(self, event_name: str, request: AWSPreparedRequest) -> AWSResponse | None:
        service, operation = event_name.split(".")[1:3]
        answer = self.services[service](operation, request) if service in self.services else None
        return answer or botocore_stubber(event_name, request)

    def _meet(self, fault: Fault, event_name: str, request: AWSPreparedRequest) -> AWSResponse:
        match fault:
            case Fault.DEATH_BEFORE:
                raise ProcessDied
            case Fault.DEATH_AFTER:
                self._served(event_name, request)
                raise ProcessDied
            case Fault.TIMEOUT_BEFORE:
                raise ConnectTimeoutError(endpoint_url=request.url)
            case Fault.TIMEOUT_AFTER:
                self._served(event_name, request)
                raise ReadTimeoutError(endpoint_url=request.url)
            case _:
                return _refusal(fault, request)


@contextmanager
def without_retry_delays() -> Generator[None]:
    """Let botocore retry without delay, and treat each call as the first of its process."""
    with (
        patch.object(ExponentialBackoff, "delay_amount", Mock(return_value=0)),
        patch.object(RetryQuota, "acquire", Mock(return_value=True)),
    ):
        yield


def _refusal(fault: Fault, request: AWSPreparedRequest) -> AWSResponse:
    if ".s3." in request.url:
        return refused_by_s3(request, *_CODES_OF_S3[fault])
    status, code = _CODES[fault]
    return answered(request, status, {"__type": code, "message": "a fault of the tests"})
