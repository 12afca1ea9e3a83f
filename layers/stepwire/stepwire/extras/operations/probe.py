"""The composition root of function probe, which calls a tool as a client does: from outside, through the sign-in.

What keeps requests from every function, such as an expired certificate, a wrong issuer or a closed door, rings nothing
else. The probe fails loudly, so Lambda counts an error, which rings ProbeAlarm.

The rule: TLS is verified, no redirect is followed, answers are bounded, and no secret, token or answer is logged.
"""

import base64
import os
import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPSHandler, OpenerDirector, Request, build_opener

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.aws.clients import code_of, secrets_manager_client
from stepwire.aws.issuer_documents import NoRedirects
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import required
from stepwire.json_text import JsonObject, JsonTextError, as_object, is_object, parse, write
from stepwire.protocol.messages import META_CAPABILITIES, META_CLIENT, META_VERSION, MODERN_VERSIONS

_TRIES: Final = 3
_PAUSE: Final = 10.0  # seconds
_LONGEST_WAIT: Final = 29.0  # seconds, for each answer; API Gateway cuts a request off at 30
_LARGEST_ANSWER: Final = 1_048_576  # bytes
_LONGEST_REASON: Final = 300  # characters
_LOOPBACK: Final = ("localhost", "127.0.0.1")
_SIGN_IN: Final = "the sign-in"
_ENDPOINT: Final = "the endpoint"
_SETTINGS: Final = "the secret"
_OF_CLIENT: Final = frozenset({"token_url", "client_id", "client_secret", "token_endpoint_auth_method"})
"""Members of the secret; all others, such as scope, audience and resource, are sent to the token URL."""

Headers = Mapping[str, str]
Sign = Callable[[str, bytes, Headers], Headers]
"""Returns the headers of a request to a URL with those that authenticate it."""


class ProbeFailed(Exception):
    """The call did not succeed; the message says at what, and what was seen."""

    def __init__(self, at: str, reason: str) -> None:
        super().__init__(f"{at}: {reason[:_LONGEST_REASON]}")


class Probe(Struct, frozen=True):
    """One call of a tool."""

    url: str
    tool: str
    arguments: JsonObject
    sign: Sign
    context: ssl.SSLContext | None = None
    """What TLS trusts; None: what Python does by default."""

    def call(self) -> None:
        """Call the tool.

        Raises:
            ProbeFailed: its result did not come, or is an error.
        """
        version = MODERN_VERSIONS[0]
        meta = {META_VERSION: version, META_CAPABILITIES: {}, META_CLIENT: {"name": "stepwire-probe", "version": "1"}}
        params = {"name": self.tool, "arguments": self.arguments, "_meta": meta}
        body = write({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": version,
            "mcp-method": "tools/call",
            "mcp-name": self.tool,
        }
        answer = post(_ENDPOINT, self.url, body, self.sign(self.url, body, headers), self.context)
        if "error" in answer:
            raise ProbeFailed(_ENDPOINT, f"JSON-RPC error {as_object(answer['error']).get('code')}")
        result = as_object(answer.get("result"))
        if result.get("isError") or "content" not in result:
            raise ProbeFailed(_ENDPOINT, "the tool failed" if result.get("isError") else "no result of a tool came")


class ProbeHandler:
    """Handles the schedule."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Build nothing yet."""
        self._sleep = sleep

    def __call__(self, _event: object, _context: object) -> None:
        """Call the tool, and again after a failure that may pass.

        Raises:
            ProbeFailed: no call succeeded.
        """
        for left in reversed(range(_TRIES)):
            try:
                return _probe_of(os.environ).call()
            except ProbeFailed:
                if not left:
                    raise
            self._sleep(_PAUSE)
        return None


def _probe_of(environment: Mapping[str, str]) -> Probe:
    arguments = parse(environment.get("PROBE_ARGUMENTS", "{}").encode())
    url = required(environment, "RESOURCE")
    return Probe(url, required(environment, "PROBE_TOOL"), as_object(arguments), _sign_of(environment, url))


def _sign_of(environment: Mapping[str, str], resource: str) -> Sign:
    """Return how requests are authenticated: with a token, a signature of AWS, or not at all."""
    if arn := environment.get("PROBE_SECRET_ARN"):
        token = token_of(_read(Secret(arn, secrets_manager_client)), resource)
        return lambda _url, _body, headers: {**headers, "authorization": f"Bearer {token}"}
    return _signed if environment.get("AUTHORIZER") == "iam" else lambda _url, _body, headers: headers


def _read(secret: Callable[[], bytes]) -> bytes:
    """Return the secret, read for each try: one that was rotated is seen at once.

    Raises:
        ProbeFailed: it cannot be read, or is no text.
    """
    try:
        return secret()
    except (BotoCoreError, ClientError, KeyError) as fault:
        why = "it is no text" if isinstance(fault, KeyError) else f"it cannot be read: {_kind_of(fault)}"
        raise ProbeFailed(_SETTINGS, why) from None


def _kind_of(fault: Exception) -> str:
    return code_of(fault) if isinstance(fault, ClientError) else type(fault).__name__


def token_of(secret: bytes, resource: str, context: ssl.SSLContext | None = None) -> str:
    """Return an access token, by the grant client_credentials.

    Args:
        secret: JSON with `token_url`, `client_id`, `client_secret`, and what else the issuer wants.
        resource: URL of the endpoint; the token is for it unless the secret says otherwise (RFC 8707).
        context: what TLS trusts.

    Raises:
        ProbeFailed: the secret has no such members, or the issuer gives no token.
    """
    known = _members(secret)
    missing = [name for name in ("token_url", "client_id", "client_secret") if not known.get(name)]
    if missing:
        raise ProbeFailed(_SETTINGS, f"it must be a JSON object with texts, and lacks {', '.join(missing)}")
    more = {name: value for name, value in known.items() if name not in _OF_CLIENT}
    form = {"grant_type": "client_credentials", "resource": resource, **more}
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    client = {name: known[name] for name in ("client_id", "client_secret")}
    if known.get("token_endpoint_auth_method") == "client_secret_post":
        form |= client
    else:
        pair = ":".join(urlencode({"": value})[1:] for value in client.values())  # RFC 6749, section 2.3.1
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    wanted = {name: value for name, value in form.items() if value}
    answer = post(_SIGN_IN, known["token_url"], urlencode(wanted).encode(), headers, context)
    token = answer.get("access_token")
    if not isinstance(token, str):
        raise ProbeFailed(_SIGN_IN, "the answer has no access_token")
    if not (token.isascii() and token.isprintable()):  # Python's error would show it
        raise ProbeFailed(_SIGN_IN, "the answer has an access_token that no header can have")
    return token


def _members(secret: bytes) -> dict[str, str]:
    try:
        found = parse(secret)
    except JsonTextError:
        return {}
    return {name: value for name, value in as_object(found).items() if isinstance(value, str)}


def _signed(url: str, body: bytes, headers: Headers) -> Headers:
    """Sign with the credentials of the function (SigV4)."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - only with Authorizer=iam
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415
    from botocore.session import get_session  # noqa: PLC0415

    request: Any = AWSRequest("POST", url, headers=dict(headers), data=body)
    credentials: Any = get_session().get_credentials()
    SigV4Auth(credentials, "execute-api", required(os.environ, "AWS_REGION")).add_auth(request)
    return dict(request.headers.items())


def post(at: str, url: str, body: bytes, headers: Headers, context: ssl.SSLContext | None = None) -> JsonObject:
    """Post to a URL and return the JSON object of the answer. The URL is https, or of this machine.

    Raises:
        ProbeFailed: no such answer came.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ProbeFailed(at, "its URL does not begin with https://")
    request = Request(url, body, dict(headers), method="POST")  # noqa: S310 - the scheme was checked
    try:
        with _opener(context).open(request, timeout=_LONGEST_WAIT) as answer:
            text = answer.read(_LARGEST_ANSWER)
    except HTTPError as refused:
        challenge = refused.headers.get("www-authenticate", "")
        raise ProbeFailed(at, f"HTTP {refused.code}{f': {challenge}' if challenge else ''}") from None
    except (URLError, OSError, HTTPException) as fault:
        raise ProbeFailed(at, _words(fault)) from None
    try:
        found = parse(text)
    except JsonTextError:
        raise ProbeFailed(at, "the answer is not JSON") from None
    if not is_object(found):
        raise ProbeFailed(at, "the answer is no JSON object")
    return found


def _opener(context: ssl.SSLContext | None) -> OpenerDirector:
    return build_opener(NoRedirects, HTTPSHandler(context=context or ssl.create_default_context()))


def _words(fault: Exception) -> str:
    """Return what went wrong on the way, in words of Python's own."""
    cause = fault.reason if isinstance(fault, URLError) and isinstance(fault.reason, Exception) else fault
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {cause.verify_message}"
    return f"it does not answer: {type(cause).__name__}"
