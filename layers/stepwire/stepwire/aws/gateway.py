"""API Gateway's HTTP API (payload format 2.0): its event to a request, a response to its result, and who calls.

The caller is identified by what the authorizer verified: the claims of a token, or an IAM signature. An incomplete
identity is refused: with a claim missing, different callers could share one identity. Nothing that a caller can choose
is part of the identity.

The end has the callers of whom no authorizer has just verified anything: by claims, or by an id of IAM. The rule:
nothing is hashed there. `SignIn.caller_of` decides, from the event that API Gateway would send.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Any, Final, cast
from urllib.parse import unquote, urlencode

from msgspec import Struct

from stepwire.errors import IncompleteIdentity, InvalidToken, NotSignedIn, UnknownPath
from stepwire.json_text import JsonObject, as_object, write
from stepwire.principal import Caller, Claims, claim_text, principal_of
from stepwire.protocol.http import PARAMETERS, HttpRequest, HttpResponse
from stepwire.protocol.tokens import encode

ANONYMOUS: Final = ("anonymous",)
ISSUER_AND_SUBJECT: Final = ("iss", "sub")
_NO_VALUE: Final = ("", "<nil>")  # API Gateway writes all claims as strings, and null as Go prints it
_SIGNATURE_CLAIMS: Final = ("accountId", "callerId", "principalOrgId", "userArn", "userId")
_POOL_CLAIMS: Final = ("identityId", "identityPoolId")
_ENTRA: Final = ("https://login.microsoftonline.com/", "https://sts.windows.net/")
_OF_A_ROLE: Final = "AROA"  # prefix of the unique ids of roles


def request_of(
    event: dict[str, Any], caller: Caller, at: datetime | None = None, deadline: datetime | None = None
) -> HttpRequest:
    """Return the request that an event carries, in an invocation that began at a time and ends at the deadline.

    Raises:
        UnknownPath: the path says nothing that a query could say.
    """
    headers = cast(dict[str, str], event.get("headers") or {})
    # A lone surrogate is not valid UTF-8, and the parser refuses it as such.
    body = str(event.get("body") or "").encode(errors="surrogatepass")
    if event.get("isBase64Encoded"):
        with suppress(binascii.Error):  # the parser refuses what is not valid base64, as it is no JSON either
            body = base64.b64decode(body, validate=True)
    return HttpRequest(
        method=event["requestContext"]["http"]["method"],
        headers={name.lower(): value for name, value in headers.items()},
        body=body,
        caller=caller,
        query=_query_of(event),
        at=at,
        deadline=deadline,
    )


def _query_of(event: Mapping[str, Any]) -> str:
    """Return the query and what the path adds: /mcp/group/finance means /mcp?group=finance."""
    query = str(event.get("rawQueryString") or "")
    parameters = cast(dict[str, str], event.get("pathParameters") or {})
    parts = unquote(parameters.get("proxy") or "").strip("/").split("/")
    if parts == [""]:
        return query
    if len(parts) % 2 or not PARAMETERS.issuperset(parts[::2]):
        known = ", ".join(sorted(PARAMETERS))
        raise UnknownPath(f"Nothing is here. Behind /mcp come names and values, as in /mcp/group/finance: {known}.")
    added = urlencode(list(zip(parts[::2], parts[1::2], strict=True)))
    return f"{query}&{added}" if query else added


def response_of(response: HttpResponse) -> dict[str, Any]:
    """Return a response in API Gateway's format."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body,
        "isBase64Encoded": False,
    }


class SignIn(Struct, frozen=True, dict=True):
    """How callers are identified."""

    salt: str
    """The stack's id."""
    is_open: bool = False
    """Whether the endpoint has no authorizer; all callers then share one identity."""
    claims: Sequence[str] = ISSUER_AND_SUBJECT
    """The claims that together identify the caller; `sub|client_id` means the first that is present."""

    @cached_property
    def _anybody(self) -> Caller:
        return Caller(principal_of(ANONYMOUS, self.salt), is_everybody=True)

    def caller_of(self, event: Mapping[str, Any]) -> Caller:
        """Return the caller of a request.

        Raises:
            NotSignedIn: no authorizer verified the request.
            InvalidToken: the token is not an access token.
            IncompleteIdentity: a required claim is missing.
        """
        if self.is_open:
            return self._anybody
        authorizer = as_object(event["requestContext"].get("authorizer"))
        token, signature = as_object(authorizer.get("jwt")), as_object(authorizer.get("iam"))
        if claims := as_object(token.get("claims")):
            # F4: Cognito's ID tokens have the client's id as audience too, so API Gateway accepts them.
            if claims.get("token_use", "access") != "access":
                raise InvalidToken("This is an ID token: send the access token instead.")
            identity = _token_identity(claims, self.claims)
            principal, person = principal_of(identity, self.salt), _person_identity(claims)
            digest = "" if person is None or person == identity else principal_of(person, self.salt)
            texts = Claims(_texts(claims, claims), _bearer_token(event))
            return Caller(principal, texts, _route_scopes(token) | texts.scopes, digest)
        if signature:
            pool = as_object(signature.get("cognitoIdentity"))
            # What a signature says of its caller, without the access key.
            told = {**_texts(signature, _SIGNATURE_CLAIMS), **_texts(pool, _POOL_CLAIMS)}
            return Caller(principal_of(_iam_identity(signature, pool), self.salt), claims=Claims(told))
        raise NotSignedIn("The request came without sign-in.")


def _token_identity(claims: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return the kind of identity, followed by the names and values of its claims."""
    identity, missing = ["jwt"], list[str]()
    for alternatives in names:
        # Only alternatives that the operator configured count: otherwise all tokens without `sub` would be one caller.
        found = next((name for name in alternatives.split("|") if _value(claims, name) is not None), None)
        if found is None:
            missing.append(alternatives)
        else:
            identity += [found, str(claims[found])]
    if missing:
        raise IncompleteIdentity(missing)
    return tuple(identity)


def _bearer_token(event: Mapping[str, Any]) -> str:
    """Return the token that the authorizer has verified.

    Of two headers, which API Gateway joins by a comma, nobody says which it has verified: together they are no token.
    """
    header = str(as_object(event.get("headers")).get("authorization") or "")
    return header if "," in header else header.rpartition(" ")[2]


def _person_identity(claims: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the kind of identity, issuer and subject, whatever makes a principal; None: the token lacks one of them.

    The `sub` of Microsoft Entra differs between the clients of one person, and its `oid` does not.
    """
    issuer = _value(claims, "iss") or ""
    subject = "oid" if issuer.startswith(_ENTRA) and _value(claims, "oid") else "sub"
    value = _value(claims, subject)
    return ("jwt", "iss", issuer, subject, value) if issuer and value else None


def _value(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    return None if value is None or str(value) in _NO_VALUE else str(value)


def _texts(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    return {name: text for name in names if (text := _value(values, name)) is not None}


def _iam_identity(signature: Mapping[str, Any], pool: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the unique id of an IAM user, or of a role without the session name, which the caller can choose.

    Callers of a Cognito identity pool share a role, so their identity id is part of the identity.
    """
    user_id = str(signature.get("userId") or "")
    if not user_id:
        raise IncompleteIdentity(["userId"])
    unique_id = user_id.partition(":")[0] if user_id.startswith(_OF_A_ROLE) else user_id
    pooled = pool.get("identityId")
    return ("iam", unique_id, str(pooled)) if pooled else ("iam", unique_id)


def _route_scopes(token: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes that the route required and API Gateway found."""
    required: Any = token.get("scopes")
    return frozenset(str(scope) for scope in cast(list[Any], required)) if isinstance(required, list) else frozenset()


# ------------------------------------------------------------------------------------------------ without an authorizer


def caller_with_claims(sign_in: SignIn, claims: JsonObject) -> Caller:
    """Return the caller whose access token has these claims.

    Raises:
        InvalidToken: it is no access token.
        IncompleteIdentity: a required claim is missing.
        NotSignedIn: there are no claims.
    """
    texts = {name: claim_text(value) for name, value in claims.items()}
    token = f".{encode(write(claims).encode())}."
    authorizer = {"jwt": {"claims": texts, "scopes": None}}
    return sign_in.caller_of({"requestContext": {"authorizer": authorizer}, "headers": {"authorization": token}})


def caller_with_unique_id(sign_in: SignIn, unique_id: str) -> Caller:
    """Return the caller whose signature is of the IAM user (AIDA...) or the role (AROA...) with this id."""
    return sign_in.caller_of({"requestContext": {"authorizer": {"iam": {"userId": unique_id}}}})
