"""The scenes of a game day: something goes wrong at three in the morning, and an operator types what the pages say.

An extra has its own in its module `scenes`; the name of such a scene leads to the extra's page.
"""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest

from packages.local.tests.issuer import TestIssuer
from stepwire.extras.operations.probe import Probe, ProbeFailed, token_of
from stepwire_local.http_server import LoopbackServer, QuietHandler
from tests.extras import parts
from tests.game_day.night import Night, taken_over
from tests.game_day.regions import lost, owners_in


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


def lost_region(at: Night) -> str:
    """The Region is gone for good; a nightly export and a replica of the bucket are in another one."""
    owners = owners_in(at.folder)
    with taken_over(at, owners, lost(owners)):
        return "ended tasks are read with their results; what ran fails with a reason, and is called again"


SCENES: Final[dict[str, Callable[[Night], str]]] = {
    **{name: scene for part in parts("scenes") for name, scene in part.SCENES.items()},
    "A dead issuer": dead_issuer,
    "A lost Region": lost_region,
}
