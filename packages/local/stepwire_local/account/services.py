"""The account's AWS services over HTTP, on one port: for functions in containers of `sam local`, and for operators.

The rule: every signed request addresses this one account and Region, whatever key and Region it names, because `sam
local` gives its containers the developer's own. Signatures are required but not verified. A request must also name this
machine as its host; together, these keep web pages out.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.models import botocore_stubber

from stepwire_local.account.isolation import ACCESS_KEY
from stepwire_local.gateway.http_api import Response
from stepwire_local.gateway.loopback import is_loopback, name_of
from stepwire_local.gateway.server import Receive, Scope, Send, read, reply

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

_CREDENTIAL: Final = re.compile(r"Credential=[^/\s]+/(?P<date>\d{8})/[^/\s]+/(?P<service>[a-z0-9-]+)/aws4_request")
_LARGEST: Final = 16 * 1024 * 1024  # bytes; a batch of DynamoDB's
# About the connection, or made anew here.
_OURS: Final = frozenset(("connection", "content-length", "date", "host", "server", "transfer-encoding"))
# Of the developer's session, where there is one: it says nothing about the account here.
_SESSION: Final = frozenset(("x-amz-security-token",))


class Services:
    """The ASGI application in front of the simulated account.

    Args:
        host: The address that it listens on.
        region: Where everything of the account is.
        served: The services of the account that it serves, as a signature names them.
        own: What answers for a service that the account does not simulate, from the request's body.
    """

    def __init__(
        self,
        host: str,
        region: str,
        served: Collection[str] = SERVED,
        own: Mapping[str, Callable[[bytes], Response]] = MappingProxyType({}),
    ) -> None:
        self._names = frozenset((CONTAINER_HOST, host))
        self._region = region
        self._served = (*served, *own)
        self._own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await reply(send, await self._answer(scope, receive))

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        """Check 1. the host, 2. the signature, 3. the service, 4. the size; then 5. return the service's answer."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if not is_loopback(host) and name_of(host) not in self._names:
            return _refusal(403, "ForbiddenHost", "The request names another host.")
        signed = _CREDENTIAL.search(headers.get("authorization", ""))
        if signed is None:
            return _refusal(403, "MissingAuthenticationToken", "The request has no AWS Signature Version 4.")
        if signed["service"] not in self._served:
            served = ", ".join(self._served)
            return _refusal(501, "NotServedLocally", f"{signed['service']} is not served here; {served} are.")
        body = await read(receive, _LARGEST)
        if body is None:
            return _refusal(413, "RequestEntityTooLarge", f"The request is longer than {_LARGEST} bytes.")
        if own := self._own.get(signed["service"]):
            return own(body)
        url, headers_here = self._url(scope, signed["service"]), self._signed_here(headers, signed)
        request = AWSPreparedRequest(scope["method"], url, headers_here, body, stream_output=False)
        # In a thread: moto works there for as long as it takes.
        return await asyncio.to_thread(_served, request)

    def _url(self, scope: Scope, service: str) -> str:
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        return f"https://{service}.{self._region}.amazonaws.com{path}" + (f"?{query}" if query else "")

    def _signed_here(self, headers: Mapping[str, str], signed: re.Match[str]) -> HTTPHeaders:
        credential = f"Credential={ACCESS_KEY}/{signed['date']}/{self._region}/{signed['service']}/aws4_request"
        kept = {name: value for name, value in headers.items() if name not in _OURS | _SESSION}
        return HTTPHeaders.from_dict({**kept, "authorization": signed.re.sub(credential, headers["authorization"])})


def _served(request: AWSPreparedRequest) -> Response:
    try:
        answer: Any = botocore_stubber.process_request(request) if botocore_stubber.enabled else None
    except Exception:
        logger.exception("A service failed.")
        return _refusal(500, "InternalFailure", "The simulated service failed; its log says why.")
    if answer is None:
        return _refusal(501, "NotServedLocally", f"{request.method} {request.url} is not simulated.")
    status, headers, body = answer
    kept = [(str(name), str(value)) for name, value in headers.items() if name.lower() not in _OURS]
    return Response(status, kept, body.encode() if isinstance(body, str) else bytes(body or b""))


def _refusal(status: int, kind: str, message: str) -> Response:
    body = json.dumps({"__type": kind, "message": message}).encode()
    return Response(status, [("content-type", "application/x-amz-json-1.0")], body)
