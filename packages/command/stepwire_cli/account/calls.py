"""Calls to AWS: paced, retried while they are throttled, and with errors in one line."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from stepwire.aws.clients import THROTTLED
from stepwire_cli.account.errors import NotAllowed, TooBusy
from stepwire_cli.account.faults import OF_AWS, code_of, told
from stepwire_cli.account.pacing import Pacer

_MOST_TRIES: Final = 8


def _nowhere(region: str, role: str | None) -> "Calls":
    raise NotAllowed(f"{region} cannot be asked{f' as {role}' if role else ''}: this account alone is known")


@dataclass(frozen=True)
class Calls:
    """AWS of one account and Region. Threads may share it."""

    build_client: Callable[[str], Any]
    """Builds a client of boto3 for a service."""
    pacer: Pacer
    region: str | None = None
    """Its Region, where it is known."""
    elsewhere: "Callable[[str, str | None], Calls]" = _nowhere
    """Returns the AWS of another Region, under a role if one is given."""
    _clients: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def call(self, service: str, operation: str, **parameters: Any) -> Any:
        """Return the answer to one call.

        Raises:
            AccountError: it was refused.
        """
        name = f"{service}:{operation}"
        try:
            act = partial(getattr(self._client(service), xform_name(operation)), **parameters)
            for _ in range(_MOST_TRIES):
                self.pacer.take(name)
                try:
                    answer = act()
                except ClientError as error:
                    if code_of(error) not in THROTTLED:
                        raise
                    self.pacer.throttled(name)
                else:
                    self.pacer.worked(name)
                    return _of_aws(answer)
        except OF_AWS as error:
            raise told(error, name, parameters) from None
        raise TooBusy(
            f"AWS throttles {name} of this account: others use its quota; try again later, or with fewer names"
        )

    def pages(
        self, service: str, operation: str, token: str, *, sent_as: str | None = None, **parameters: Any
    ) -> Iterator[Any]:
        """Yield the answers to a call that has pages.

        `token` leads to the next page: a member of the answer, and the parameter, unless `sent_as` is another.
        """
        more: dict[str, Any] = {}
        while True:
            page = self.call(service, operation, **parameters, **more)
            yield page
            if not page.get(token):
                return
            more = {sent_as or token: page[token]}

    def table_pages(self, operation: str, **parameters: Any) -> Iterator[Any]:
        """Yield the answers to a query or a scan of a table."""
        return self.pages("dynamodb", operation, "LastEvaluatedKey", sent_as="ExclusiveStartKey", **parameters)

    def requests(self, service: str) -> dict[str, tuple[str, ...]]:
        """Return the members of each request that the installed boto3 knows of a service, by operation."""
        model = self._client(service).meta.service_model
        shapes = {name: model.operation_model(name).input_shape for name in model.operation_names}
        return {name: () if shape is None else tuple(shape.members) for name, shape in shapes.items()}

    def _client(self, service: str) -> Any:
        with self._lock:  # boto3's sessions build one client at a time
            if service not in self._clients:
                self._clients[service] = self.build_client(service)
            return self._clients[service]


def _of_aws(answer: Any) -> Any:
    """Return the answer; a web page is none, which boto3 takes for an empty one.

    Raises:
        ResponseParserError: it is a web page.
    """
    headers: Mapping[str, str] = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    if headers.get("content-type", "").startswith("text/html"):
        raise ResponseParserError
    return answer
