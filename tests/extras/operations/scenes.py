"""For tools/game_day: what the probe tells an operator of an issuer that is down."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest

from packages.local.tests.issuer import TestIssuer
from stepwire.extras.operations.probe import Probe, ProbeFailed, token_of
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tools.game_day.night import Night


def dead_issuer(at: Night) -> str:
    """The issuer is down, so nobody gets a token, and no function fails."""
    frank = at.client("frank")
    with tokens(at.issuer) as url:
        probe = probe_of(at, url)
        probe.call()
    documents, at.issuer.documents = at.issuer.documents, {}
    with pytest.raises(ProbeFailed) as rings:
        probe.call()
    assert "the sign-in: it does not answer" in str(rings.value)
    assert frank.ask("tools/list").status == 200, "who has a token is served: API Gateway keeps the keys for two hours"

    at.operator.reads("the alarm's runbook: `ask ProbeLogs ...` ([ProbeAlarm](operations.md#probealarm))")
    said = at.operator.types(f"stepwire sign-in check {at.stack.url}", code=1)
    assert at.issuer.url in said
    at.issuer.documents = documents
    with tokens(at.issuer) as url:
        probe_of(at, url).call()
    at.operator.types(f"stepwire sign-in check {at.stack.url}")
    return "the hourly probe rings ProbeAlarm; callers with a token are served for up to two hours meanwhile"


@contextmanager
def tokens(issuer: TestIssuer) -> Generator[str]:
    """Serve the issuer's token endpoint; yield its URL."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.body()
            self.reply(200, json.dumps({"access_token": issuer.valid(sub="the probe")}).encode(), {})

    with LoopbackServer(Handler) as server:
        yield f"{server.origin}/token"


def probe_of(at: Night, token_url: str) -> Probe:
    """Return what function probe does every hour, as a client of the issuer."""
    secret = json.dumps({"token_url": token_url, "client_id": "probe", "client_secret": "a secret"}).encode()

    def sign(url: str, _body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
        return {**headers, "authorization": f"Bearer {token_of(secret, url)}"}

    return Probe(at.stack.url, "wait_and_echo", {"message": "a probe"}, sign)


SCENES: Final = {"[A dead issuer](extras/operations.md#the-probe)": dead_issuer}
