"""The scenes of a game day: something goes wrong at three in the morning, and an operator types what the pages say.

Callers come through the real door, with tokens of a test issuer. The clock of the endpoint stands still unless a scene
moves it: so a scene can say how long something took there.
"""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from packages.local.tests.issuer import AUDIENCE, TestIssuer
from stepwire.extras.operations.probe import Probe, ProbeFailed, token_of
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import LocalStack
from stepwire_local.http_server import LoopbackServer, QuietHandler
from stepwire_local.operating import account_of
from tests.adopted import ADOPTER
from tests.game_day.operator import Operator
from tests.game_day.regions import NEXT, TEXTS, client_of, copied, imported, lost, owners_in, stack
from tests.integration.clock import Clock
from tests.server.clients import ModernClient
from tests.waiting import until

ROOT: Final = Path(__file__).parents[2]
HOUR: Final = 3600  # seconds
FLOOD: Final = 40
MOST: Final = 20  # tasks of a caller


@dataclass(frozen=True)
class Door:
    """The endpoint's URL, for the bearer of a token."""

    url: str
    token: str

    @property
    def server(self) -> "Door":
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        got = httpx.request(request.method, self.url, content=request.body, headers=headers, timeout=60)
        return HttpResponse(got.status_code, got.text, dict(got.headers))


@dataclass(frozen=True)
class Night:
    """A stack with sign-in, its clock, and an operator."""

    stack: LocalStack
    clock: Clock
    issuer: TestIssuer
    operator: Operator
    folder: Path

    def client(self, person: str) -> ModernClient:
        """Return a client of a person."""
        return self.bearer(self.token(person))

    def bearer(self, token: str) -> ModernClient:
        """Return a client of whoever has a token."""
        return ModernClient(Door(self.stack.url, token))

    def token(self, person: str) -> str:
        return self.issuer.valid(sub=person)

    def until(self, holds: Callable[[], bool], *, most: int = 120) -> int:
        """Move the endpoint's clock by ten seconds until something holds; return after how many seconds."""
        for passed in range(0, most + 1, 10):
            if holds():
                return passed
            self.clock.move(seconds=10)
        raise AssertionError(f"not within {most} seconds")


@contextmanager
def night(folder: Path) -> Generator[Night]:
    """Run a stack, and let an operator sit down before it."""
    with TestIssuer() as issuer:
        parameters = {"Authorizer": "jwt", "JwtIssuer": issuer.url, "JwtAudience": AUDIENCE, "WaitSeconds": "0"}
        parameters |= {"MostActiveTasks": str(MOST), "PollsPerSecond": "0"}
        clock = Clock()
        served = LocalStack(ROOT / "template.yaml", others=[ADOPTER], parameters=parameters)
        with served as stack, clock.drives(stack), account_of(stack) as account:
            yield Night(stack, clock, issuer, Operator(stack, account), folder)


def stolen_token(at: Night) -> str:
    """A token of Alice is in the wrong hands."""
    token = at.token("alice")
    (at.folder / "stolen.txt").write_text(token, encoding="utf-8")
    alice, thief = at.bearer(token), at.bearer(token)
    task_id = alice.call("wait_and_echo", {"message": "hers", "seconds": HOUR}).id_in()
    assert thief.task("get", task_id).result["status"] == "working"

    at.operator.types(f"stepwire caller block --jwt {at.folder / 'stolen.txt'} --yes")
    held = at.until(lambda: thief.task("get", task_id).status == 403)
    at.operator.types(f"stepwire caller cancel-all --jwt {at.folder / 'stolen.txt'} --yes")
    bob = at.client("bob").call("wait_and_echo", {"message": "his", "seconds": HOUR}).id_in()
    assert at.client("bob").task("get", bob).result["status"] == "working", "nobody else notices"
    at.operator.types("stepwire caller unblock --sub alice")
    back = at.until(lambda: at.client("alice").task("get", task_id).status == 200)
    assert at.client("alice").task("get", task_id).result["status"] == "cancelled"
    return f"refused after {held} seconds; let in again after {back}"


def flood(at: Night) -> str:
    """An agent of Carol calls in a loop."""
    carol, dave = at.client("carol"), at.client("dave")
    answers = [carol.call("wait_and_echo", {"message": "again", "seconds": HOUR}) for _ in range(FLOOD)]
    taken = [one.id_in() for one in answers if "result" in one.body]
    others = dave.call("wait_and_echo", {"message": "once", "seconds": HOUR}).id_in()
    assert len(taken) == MOST, "the limits of one caller hold before an operator wakes up"
    assert dave.task("get", others).result["status"] == "working"

    shown = at.operator.types(f"stepwire caller show {taken[0]}")
    assert str(len(taken)) in shown
    at.operator.types(f"stepwire caller block {taken[0]} --yes")
    held = at.until(lambda: carol.ask("tools/list").status == 403)
    at.operator.types(f"stepwire caller cancel-all {taken[0]} --yes")
    assert dave.task("get", others).result["status"] == "working"
    return f"{len(taken)} of {FLOOD} calls began; refused after {held} seconds; Dave was served all the time"


def erased_person(at: Night) -> str:
    """Erin asks for what is held of her, and then to be erased."""
    erin = at.client("erin")
    done = erin.call("wait_and_echo", {"message": "my address", "seconds": 0}).id_in()
    until(lambda: erin.task("get", done).result["status"] == "completed")
    erin.call("wait_and_echo", {"message": "still running", "seconds": HOUR}).id_in()

    exported = at.operator.types("stepwire caller export --sub erin", writes="erin.jsonl")
    assert "my address" in exported
    said = at.operator.types("stepwire caller erase --sub erin --cancel --yes")
    assert "execution" in said, "what stays elsewhere is named"
    left = at.operator.types("stepwire caller export --sub erin")
    assert [json.loads(line)["kind"] for line in left.splitlines()] == ["audit"], (
        "where the logs are is all that is left"
    )
    assert erin.task("get", done).code == -32602
    return "all of it exported and erased; what Step Functions and the logs keep is named"


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
    left = lost(owners)
    at.operator.reads(
        "steps 1 to 5 of [When a Region is lost](restoring.md#take-over); what they make is made by the scene"
    )
    with (
        stack(owners, NEXT, {"TasksTable": imported()}, PrincipalSalt=left.salt) as there,
        account_of(there) as account,
    ):
        copied(there.physical_ids["LargeResults"])
        operator = Operator(there, account, at.operator.typed)
        for line in left.ticket:
            operator.types(line)
        at.operator.reads("steps 7 and 8")
        alice, erin = client_of(there, "alice"), client_of(there, "erin")
        results = {name: alice.task("get", left.tasks[name]).result["result"] for name in TEXTS}
        assert erin.task("get", left.tasks["erin"]).code == -32602
    assert {name: one["structuredContent"]["text"] for name, one in results.items()} == TEXTS
    return (
        "ended tasks are read with their results; what ran fails with a reason, and is called again; who was erased "
        "after the export stays erased"
    )


SCENES: Final = {
    "A stolen token": stolen_token,
    "A flood": flood,
    "A dead issuer": dead_issuer,
    "A lost Region": lost_region,
    "A person who asks to be erased": erased_person,
}
