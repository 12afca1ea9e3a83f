"""A night with a stack and an operator, in which the scenes of a game day are played.

Callers come through the real door, with tokens of a test issuer. The clock of the endpoint stands still unless a scene
moves it: so a scene can say how long something took there.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from packages.local.tests.issuer import AUDIENCE, TestIssuer
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import LocalStack
from stepwire_local.operating import account_of
from tests.adopted import ADOPTER
from tests.integration.clock import Clock
from tests.server.clients import ModernClient
from tools.game_day import regions
from tools.game_day.operator import Operator
from tools.game_day.regions import NEXT, TEXTS, Left, client_of, copied, imported

ROOT: Final = Path(__file__).parents[2]
MOST: Final = 20  # tasks of a caller


@dataclass(frozen=True)
class Door:
    """The endpoint's URL, for the bearer of a token."""

    url: str
    token: str

    @property
    def server(self) -> "Door":
        """What a client sends its requests to."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Send a request with the token."""
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
        """Return a valid token of a person."""
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
        served = LocalStack(ROOT / "stack.yaml", others=[ADOPTER], parameters=parameters)
        with served as stack, clock.drives(stack), account_of(stack) as account:
            yield Night(stack, clock, issuer, Operator(stack, account), folder)


@contextmanager
def taken_over(at: Night, owners: Path, left: Left) -> Generator[LocalStack]:
    """Take over in another Region what is left of one; Alice has her results there."""
    at.operator.reads(
        "steps 1 to 5 of [When a Region is lost](restoring.md#take-over); what they make is made by the scene"
    )
    with (
        regions.stack(owners, NEXT, {"TasksTable": imported()}, PrincipalSalt=left.salt) as there,
        account_of(there) as account,
    ):
        copied(there.physical_ids["LargeResults"])
        operator = Operator(there, account, at.operator.typed)
        for line in left.ticket:
            operator.types(line)
        at.operator.reads("steps 7 and 8")
        alice = client_of(there, "alice")
        results = {name: alice.task("get", left.tasks[name]).result["result"] for name in TEXTS}
        assert {name: one["structuredContent"]["text"] for name, one in results.items()} == TEXTS
        yield there
