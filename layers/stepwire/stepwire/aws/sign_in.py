"""Who calls, by what API Gateway's authorizer vouches for: the claims of a verified token, or a signature of IAM.

The rule: an identity is whole or it is none. Where something that names the caller is missing, the request is refused;
a part of an identity would be somebody else's too. Nothing that a caller can choose is part of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from stepwire.errors import IncompleteIdentity, InvalidToken, NotSignedIn
from stepwire.json_text import as_object
from stepwire.principal import Principal, principal_of

ANONYMOUS: Final = ("anonymous",)
ISSUER_AND_SUBJECT: Final = ("iss", "sub")
_NO_VALUE: Final = ("", "<nil>")  # API Gateway writes all claims as texts, and null as Go does
_OF_A_ROLE: Final = "AROA"  # how the unique ids of roles begin


@dataclass(frozen=True)
class Caller:
    """Who calls, and what the caller's token allows."""

    principal: Principal
    scopes: frozenset[str] | None = None
    """None where the sign-in knows no scopes."""


@dataclass(frozen=True)
class SignIn:
    """How callers are told apart."""

    salt: str
    """Differs from stack to stack."""
    is_open: bool = False
    """Whether anybody may call; all callers are then one."""
    claims: Sequence[str] = ISSUER_AND_SUBJECT
    """The claims of a token that name its owner, all of them together; of `sub|client_id`, the first that there is."""

    def caller_of(self, event: Mapping[str, Any]) -> Caller:
        """Name the caller of a request.

        Raises:
            NotSignedIn: no authorizer says who this is.
            InvalidToken: it vouches for a token of another kind.
            IncompleteIdentity: it says less than is asked for.
        """
        if self.is_open:
            return Caller(principal_of(ANONYMOUS, self.salt))
        authorizer = as_object(event["requestContext"].get("authorizer"))
        token, signature = as_object(authorizer.get("jwt")), as_object(authorizer.get("iam"))
        if claims := as_object(token.get("claims")):
            _check_kind_of_token(claims)
            return Caller(principal_of(_token_identity(claims, self.claims), self.salt), _scopes(token, claims))
        if signature:
            return Caller(principal_of(_iam_identity(signature), self.salt))
        raise NotSignedIn("The request came without sign-in.")


def _check_kind_of_token(claims: Mapping[str, Any]) -> None:
    # F4: the audience of Cognito's ID tokens is the client's id too, so API Gateway lets them pass.
    if claims.get("token_use", "access") != "access":
        raise InvalidToken("The token says who you are, not what you may do: send the access token instead.")


def _token_identity(claims: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Give the kind of identity, and the names and values of the claims that make it."""
    identity, missing = ["jwt"], list[str]()
    for alternatives in names:
        # Only a stand-in that the operator names counts: else everybody whose token lacks `sub` would be one caller.
        found = next((name for name in alternatives.split("|") if _value(claims, name) is not None), None)
        if found is None:
            missing.append(alternatives)
        else:
            identity += [found, str(claims[found])]
    if missing:
        raise IncompleteIdentity(missing)
    return tuple(identity)


def _value(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    return None if value is None or str(value) in _NO_VALUE else str(value)


def _iam_identity(signature: Mapping[str, Any]) -> tuple[str, ...]:
    """Give the unique id of a user, or of a role without its session, whose name is the caller's to choose.

    Callers of a Cognito identity pool share a role; AWS names each.
    """
    user_id = str(signature.get("userId") or "")
    if not user_id:
        raise IncompleteIdentity(["userId"])
    unique_id = user_id.partition(":")[0] if user_id.startswith(_OF_A_ROLE) else user_id
    pooled = as_object(signature.get("cognitoIdentity")).get("identityId")
    return ("iam", unique_id, str(pooled)) if pooled else ("iam", unique_id)


def _scopes(token: Mapping[str, Any], claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the words of `scope`, else of `scp`, and the scopes that the route asked for.

    RFC 6749 separates scopes by a space and by no other white space. API Gateway writes a list as `[a b]`.
    """
    told: Any = token.get("scopes")
    listed = [str(scope) for scope in cast(list[Any], told)] if isinstance(told, list) else []
    text = str(claims.get("scope") or claims.get("scp") or "")
    words = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return frozenset(listed) | frozenset(filter(None, words.split(" ")))
