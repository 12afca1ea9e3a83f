"""What issuers do differently, as far as clients and this endpoint notice. Data only; docs/sign_in.md has the sources.

A shape is named after the product that it resembles, as its documents described it in November 2026, with the settings
that this endpoint needs. It is no copy of that product.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

OIDC: Final = "openid-configuration"
OAUTH: Final = "oauth-authorization-server"

_ALL: Final = frozenset({"documents", "registration"})
_API: Final = "api://stepwire"
_APPLICATION: Final = "6f1a7c52-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Shape:
    """How an issuer behaves."""

    path: str = ""
    """Path of the issuer's URL; `/` for one whose `iss` ends in a slash."""
    metadata: tuple[str, ...] = (OIDC, OAUTH)
    """The well-known documents that it has."""
    endpoints: str = ""
    """Path before `/authorize`, `/token` and `/register`."""
    lists_s256: bool = True
    lists_none: bool = True
    """Whether its metadata say that public clients and PKCE with S256 are supported; they always are."""
    becomes_client_by: frozenset[str] = frozenset()
    """`documents`: client ID metadata documents; `registration`: dynamic registration. A given id always works."""
    audience: tuple[str, ...] = ("{resource}",)
    """The audiences of a token; `{resource}` is the one that was asked for, or none. Several are a list."""
    scope_claim: str = "scope"
    """The claim of the scopes: `scope` or `scp`, one text; `scp[]`, a list."""
    scopes_name_their_resource: bool = False
    """Whether clients must write each scope as `RESOURCE/scope`. Tokens have only `scope`, and a request with another
    `resource` is answered with `invalid_target`."""
    answers_with_iss: bool = False
    """Whether it says who answers (RFC 9207)."""
    takes_id_jags: bool = False
    """Whether it does enterprise-managed authorization, and says so; whom it trusts is set on the running issuer."""
    key: str = "RSA"
    """The type of its key: RSA or EC."""

    def parameters(self, issuer: str, endpoint: str, scope: str = "") -> Mapping[str, str]:
        """Return the template's parameters for the URLs of an issuer of this shape and of an endpoint.

        Tokens must have the scope, unless that is empty or scopes name their resource.
        """
        audience = next((one for one in self.audience if "{" not in one), endpoint)
        # Where clients must ask for another text than the one that the token has, it cannot be required.
        scopes = (
            {"OfferedScopes": f"{endpoint}/{scope or 'call'}"}
            if self.scopes_name_their_resource
            else {"RequiredScope": scope}
        )
        return {
            "Authorizer": "jwt",
            "JwtIssuer": issuer,
            "JwtAudience": audience,
            "EndpointUrl": endpoint,
            **scopes,
            **({"SignInUrl": f"{issuer.removesuffix(self.path)}"} if self.endpoints == "/oauth2" else {}),
        }


SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "strict": Shape(becomes_client_by=_ALL, answers_with_iss=True, takes_id_jags=True),
        "lax": Shape(lists_s256=False, lists_none=False, becomes_client_by=frozenset({"registration"})),
        "auth0": Shape(path="/", audience=("{resource}", "https://auth0.example/userinfo"), becomes_client_by=_ALL),
        "cognito": Shape(
            path="/eu-central-1_local", metadata=(OIDC,), endpoints="/oauth2", lists_s256=False, lists_none=False
        ),
        "entra": Shape(
            path="/tenant/v2.0",
            metadata=(OIDC,),
            lists_s256=False,
            audience=(_APPLICATION,),
            scope_claim="scp",
            scopes_name_their_resource=True,
        ),
        "keycloak": Shape(
            path="/realms/stepwire", audience=(_API, "account"), becomes_client_by=frozenset({"registration"})
        ),
        "okta": Shape(path="/oauth2/default", audience=(_API,), scope_claim="scp[]"),
        "workos": Shape(metadata=(OAUTH, OIDC), becomes_client_by=frozenset({"documents"})),
        "elliptic": Shape(becomes_client_by=_ALL, key="EC"),
    }
)
