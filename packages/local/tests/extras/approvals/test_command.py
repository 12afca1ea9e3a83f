"""The page for approvers, as `stepwire-local` serves it with a test issuer."""

from pathlib import Path

import httpx
import pytest

from packages.local.tests.commands.test_serve import ROOT, serving
from tests.ports import free_port
from tests.waiting import HANG_GUARD


def authorize_url(endpoint: str, client_id: str, callback: str) -> httpx.URL:
    """Return where a client of the endpoint's issuer sends its user to sign in."""
    mirror = httpx.URL(endpoint).join("/.well-known/oauth-authorization-server")
    place = httpx.get(mirror, timeout=HANG_GUARD).json()["authorization_endpoint"]
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": str(httpx.URL(endpoint).join(callback)),
        "code_challenge": "x",
        "code_challenge_method": "S256",
    }
    return httpx.URL(place).copy_merge_params(asked)


@pytest.mark.long
def test_with_an_issuer_the_page_for_approvers_signs_people_in_there(tmp_path: Path) -> None:
    port = str(free_port())

    with serving(tmp_path / "logs", ROOT / "stack.yaml", "--port", port, "--issuer", "cognito") as served:
        asked = httpx.get(authorize_url(served.url, "approvals", "/approvals/signed-in"), timeout=HANG_GUARD)
        back = httpx.get(httpx.URL(served.url).join("/approvals/signed-in"), timeout=HANG_GUARD)

    assert "ann, of finance" in asked.text, "the issuer knows the page for approvers, and asks who decides"
    assert "did not begin this sign-in" in back.text, "the page takes sign-ins"
