"""Sign-in of the page for approvers at the test issuer.

The rule: it is a client like any other.
"""

from collections.abc import Mapping
from typing import Final

from stepwire.extras.approvals.page.links import origin_of
from stepwire.extras.approvals.page.signing_in import CALLBACK
from stepwire_local.issuer import Client, LocalIssuer

CLIENT_ID: Final = "approvals"


def parameters_at(at: tuple[LocalIssuer, str] | None) -> Mapping[str, str]:
    """Return parameters for links of questions, whose page lets people sign in if there is an issuer."""
    return {"ApprovalLinks": "link"} if at is None else page_signs_in_at(*at)


def page_signs_in_at(issuer: LocalIssuer, endpoint: str) -> Mapping[str, str]:
    """Let the page for approvers sign people in at an issuer, and return the template's parameters for that."""
    issuer.clients[CLIENT_ID] = Client((f"{origin_of(endpoint)}{CALLBACK}",))
    return {"ApprovalLinks": "sign-in", "ApprovalClientId": CLIENT_ID}
