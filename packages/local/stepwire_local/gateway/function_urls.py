"""Function URLs: each is an API of one function on a port of its own, so that paths are what they are in AWS.

The source is the Lambda developer guide, "Invoking Lambda function URLs". Responses are not streamed.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from stepwire_local.errors import PortInUse
from stepwire_local.gateway.cors import Cors
from stepwire_local.gateway.exchanges import Exchange
from stepwire_local.gateway.http_api import NOT_FOUND, Api, Integration, Replies, Response, Route
from stepwire_local.gateway.server import HOST, Gateway, listen, serving
from stepwire_local.gateway.signatures import SignatureAuthorizer
from stepwire_local.lambdas.functions import Function

_FAILED = Response(502, (("content-type", "application/json"),), b"Internal Server Error")
_REPLIES = Replies(NOT_FOUND, failed=_FAILED, timed_out=_FAILED, content_type="application/json")
_LONGEST = 900.0  # seconds; the function's own timeout ends sooner


@dataclass(frozen=True)
class FunctionUrlSettings:
    """The template's settings of a function URL."""

    id: str
    name: str  # of the resource
    account: str
    region: str
    function: Function
    is_signed: bool  # whether callers must sign
    cors: Cors | None = None


class FunctionUrl:
    """A function URL that is served.

    Args:
        settings: The template's settings.
        port: The port that it has if it is free; 0: any.
        tell: Gets each request, with the whole URL as its path, and the response.
    """

    def __init__(self, settings: FunctionUrlSettings, port: int, tell: Callable[[Exchange], None]) -> None:
        self.settings = settings
        self._tell = tell
        try:
            self._listener = listen(port)
        except PortInUse:
            self._listener = listen(0)
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}/"
        self._serving = ExitStack()

    def start(self) -> None:
        """Start serving."""
        self._serving.enter_context(serving(Gateway(_api(self.settings), self._answered), self._listener))

    def stop(self) -> None:
        """Stop serving, and give the port back."""
        self._serving.close()
        self._listener.close()

    def _answered(self, exchange: Exchange) -> None:
        path = f"{self.url.rstrip('/')}{exchange.request.path}"
        self._tell(replace(exchange, request=replace(exchange.request, path=path)))


def _api(settings: FunctionUrlSettings) -> Api:
    integration = Integration(settings.function, _LONGEST)
    signature = SignatureAuthorizer(settings.account) if settings.is_signed else None
    route = Route("$default", integration, "AWS_IAM" if settings.is_signed else "NONE", signature)
    account = settings.account if settings.is_signed else "anonymous"
    return Api(settings.id, account, settings.region, (route,), settings.cors, own_replies=_REPLIES)
