"""The account's AWS services over HTTP, on one port: for functions in other processes and containers, and operators.

The rule: every signed request addresses this one account and Region, whatever key and Region it names, because `sam
local` gives its containers the developer's own. Signatures are required but not verified. A request must also name this
machine as its host; together, these keep web pages out. A call with the key of a role is judged by the role's policies.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, Final

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.models import botocore_stubber

from stepwire_local.account.isolation import ACCESS_KEY
from stepwire_local.account.requests import read_request, refused
from stepwire_local.gateway.http_api import Response
from stepwire_local.gateway.loopback import is_loopback, name_of
from stepwire_local.gateway.server import Receive, Scope, Send, read, reply
from stepwire_local.iam import keys
from stepwire_local.iam.actions import Place, UnknownOperation
from stepwire_local.iam.permissions import Role, refusal_of

logger = logging.getLogger(__name__)

CONTAINER_HOST: Final = "host.docker.internal"  # what containers call the machine that they run on
SERVED: Final = (
    "dynamodb",
    "events",
    "secretsmanager",
    "sns",
    "sqs",
    "ssm",
    "states",
    "tagging",
)  # as a signature names them

_CREDENTIAL: Final = re.compile(
    r"Credential=(?P<key>[^/\s]+)/(?P<date>\d{8})/[^/\s]+/(?P<service>[a-z0-9-]+)/aws4_request"
)
_LARGEST: Final = 16 * 1024 * 1024  # bytes; a batch of DynamoDB's
# About the connection, or made anew here.
_OURS: Final = frozenset(("connection", "content-length", "date", "host", "server", "transfer-encoding"))
_ASKED_HOST: Final = "x-aws-host"  # the host that a function in another process meant
_BUCKET: Final = re.compile(r"(?P<name>.+)\.s3[.-]")
# Of the developer's session, where there is one: it says nothing about the account here.
_SESSION: Final = frozenset(("x-amz-security-token",))


class Services:
    """The ASGI application in front of the simulated account.

    Args:
        host: The address that it listens on.
        region: Where everything of the account is.
        served: The services of the account that it serves, as a signature names them; None: whatever is simulated.
        own: What answers for a service that the account does not simulate, from the request's body.
    """

    def __init__(
        self,
        host: str,
        region: str,
        served: Collection[str] | None = SERVED,
        own: Mapping[str, Callable[[bytes], Response]] = MappingProxyType({}),
    ) -> None:
        self._names = frozenset((CONTAINER_HOST, host))
        self._region = region
        self._served = None if served is None else (*served, *own)
        self._own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await reply(send, await self._answer(scope, receive))

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        """Check 1. host, 2. signature, 3. service, 4. size, 5. the role's policies; then 6. let the service answer."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if not is_loopback(host) and name_of(host) not in self._names:
            return refused("", 403, "ForbiddenHost", "The request names another host.")
        signed = _CREDENTIAL.search(headers.get("authorization", ""))
        if signed is None:
            return refused("", 403, "MissingAuthenticationToken", "The request has no AWS Signature Version 4.")
        if self._served is not None and signed["service"] not in self._served:
            served = ", ".join(self._served)
            return refused("", 501, "NotServedLocally", f"{signed['service']} is not served here; {served} are.")
        body = await read(receive, _LARGEST)
        if body is None:
            return refused("", 413, "RequestEntityTooLarge", f"The request is longer than {_LARGEST} bytes.")
        if own := self._own.get(signed["service"]):
            return own(body)
        url, headers_here = self._url(scope, signed["service"], headers), self._signed_here(headers, signed)
        request = AWSPreparedRequest(scope["method"], url, headers_here, body, stream_output=False)
        return await asyncio.wrap_future(_in_a_thread(lambda: self._allowed(request, signed["key"], signed["service"])))

    def _allowed(self, request: AWSPreparedRequest, key: str, service: str) -> Response:
        if not keys.is_of_a_role(key):
            return _served(request, service)
        role = keys.role_with(key)
        if role is None:
            return refused(service, 403, "InvalidClientTokenId", "The role of this key is of no stack that runs.")
        return self._refusal(role, request, service) or _served(request, service)

    def _refusal(self, role: Role, request: AWSPreparedRequest, service: str) -> Response | None:
        """Return the refusal of a call that a role does not allow, or that is not simulated."""
        asked = read_request(request, service)
        if asked is None:
            return refused(service, 501, "NotServedLocally", f"{request.method} {request.url} is not simulated.")
        place = Place(self._region, role.arn.split(":")[4])
        try:
            error = refusal_of(role, f"{asked.service}.{asked.operation}", asked.params, place, self._region)
        except UnknownOperation as unknown:
            return refused(service, 501, "NotServedLocally", str(unknown))
        if error is None:
            return None
        told: Any = error.response
        status = told["ResponseMetadata"]["HTTPStatusCode"]
        return refused(service, status, told["Error"]["Code"], told["Error"]["Message"])

    def _url(self, scope: Scope, service: str, headers: Mapping[str, str]) -> str:
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        if service == "s3" and (bucket := _BUCKET.match(headers.get(_ASKED_HOST, ""))):
            path = f"/{bucket['name']}{path}"
        return f"https://{service}.{self._region}.amazonaws.com{path}" + (f"?{query}" if query else "")

    def _signed_here(self, headers: Mapping[str, str], signed: re.Match[str]) -> HTTPHeaders:
        credential = f"Credential={ACCESS_KEY}/{signed['date']}/{self._region}/{signed['service']}/aws4_request"
        kept = {name: value for name, value in headers.items() if name not in _OURS | _SESSION | {_ASKED_HOST}}
        return HTTPHeaders.from_dict({**kept, "authorization": signed.re.sub(credential, headers["authorization"])})


def _in_a_thread(work: Callable[[], Response]) -> Future[Response]:
    """Do work in a thread of its own: it may call a function that calls these services, so a pool could be used up."""
    done: Future[Response] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001  # whoever waits gets it
            done.set_exception(error)

    threading.Thread(target=run, name="services", daemon=True).start()
    return done


def _served(request: AWSPreparedRequest, service: str) -> Response:
    try:
        answer: Any = botocore_stubber.process_request(request) if botocore_stubber.enabled else None
    except Exception:
        logger.exception("A service failed.")
        return refused(service, 500, "InternalFailure", "The simulated service failed; its log says why.")
    if answer is None:
        return refused(service, 501, "NotServedLocally", f"{request.method} {request.url} is not simulated.")
    status, headers, body = answer
    kept = [(str(name), str(value)) for name, value in headers.items() if name.lower() not in _OURS]
    return Response(status, kept, body.encode() if isinstance(body, str) else bytes(body or b""))
