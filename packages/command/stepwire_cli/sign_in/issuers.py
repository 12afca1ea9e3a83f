"""What no metadata document says: known properties of issuers, recognized by the form of their URL.

Each row has its source and date. A row adds a hint to a check; `refuses_registration` also decides, because a host
that finds a registration endpoint tries it.
"""

import re
from dataclasses import dataclass
from typing import Final

from stepwire_cli.sign_in.facts import Issuer


@dataclass(frozen=True)
class Known:
    """An issuer of a vendor."""

    name: str
    pattern: str
    """Regular expression that matches the start of its URL, or that of its sign-in page."""
    hint: str
    source: str
    refuses_registration: bool = False
    """Its registration endpoint is closed to strangers."""


KNOWN: Final = (
    Known(
        "Amazon Cognito",
        r"https://(cognito-idp\.[a-z0-9-]+\.amazonaws\.com(\.cn)?|[a-z0-9-]+\.auth\.[a-z0-9-]+\.amazoncognito\.com)/",
        "Cognito compares callbacks whole, with their port, and accepts only those that are listed.",
        "docs.aws.amazon.com/cognito, client ID metadata documents (Nov 2026)",
    ),
    Known(
        "Okta",
        r"https://[a-z0-9.-]+\.(okta|oktapreview|okta-emea)\.com(/|$)",
        "Okta lists a registration endpoint, but it wants an API token of an administrator, so hosts cannot use it.",
        "apollographql.com/docs/apollo-mcp-server/guides/auth-okta (2026)",
        refuses_registration=True,
    ),
    Known(
        "Microsoft Entra ID",
        r"https://(login\.microsoftonline\.(com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)/",
        "Entra ID accepts `resource` only if it equals the Application ID URI of the server's registration, which must "
        "issue v2 tokens; otherwise it refuses with AADSTS9010010.",
        "learn.microsoft.com/entra/agent-id/secure-mcp-server-with-entra-id (2026)",
    ),
    Known(
        "Auth0",
        r"https://[a-z0-9.-]+\.auth0\.com(/|$)",
        "Auth0 ignores `resource` until the tenant's Resource Parameter Compatibility Profile is on.",
        "auth0.com/docs, Auth for MCP (May 2026)",
    ),
    Known(
        "Keycloak",
        r"https?://[^/]+(/[^/]+)*/realms/[^/]+$",
        "Keycloak ignores `resource` (experimental since 26.8): without an audience mapper, its tokens have no "
        "audience and are refused.",
        "keycloak.org/securing-apps/mcp-authz-server; phasetwo.io (12 Oct 2026, Keycloak 26.8)",
    ),
)


def known(issuer: Issuer) -> Known | None:
    """Return the vendor of an issuer, if its URL tells, or that of its sign-in page."""
    urls = (issuer.issuer, issuer.authorization_endpoint)
    return next((one for one in KNOWN if any(re.match(one.pattern, url) for url in urls)), None)
