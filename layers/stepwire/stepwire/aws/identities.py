"""Who an identity is to the server, although no authorizer has just verified it: by claims, or by an id of IAM.

The rule: nothing is hashed here. `SignIn.caller_of` decides, from the event that API Gateway would send.
"""

from stepwire.aws.gateway import SignIn
from stepwire.json_text import JsonObject, write
from stepwire.principal import Caller, claim_text
from stepwire.protocol.tokens import encode


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
