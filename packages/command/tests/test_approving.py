"""Approvals by the command: it lists what waits for a person, and asks them at the terminal."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from packages.command.tests.terminal import at_a_terminal
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.exits import Exit
from tests.kits import BOB, World
from tests.refusals.endpoint import serving
from tests.server.approving import GROUP, Decider, refunds, signed_in, started
from tests.server.messages import answers_of

ASKS = "[A/d/c] "
FIELD = "  > "


@pytest.fixture
def world() -> Iterator[World]:
    """A world in which a question waits for a decision."""
    world = refunds()
    started(world)
    yield world
    assert world.faults == []


@pytest.fixture
def environment(world: World) -> Iterator[dict[str, str]]:
    """The variables of a person who may decide."""
    endpoint = signed_in(world, "bob", GROUP)

    def as_bob(request: HttpRequest) -> HttpResponse:
        return endpoint.handle(replace(request, caller=replace(request.caller, principal=BOB)))

    with serving(as_bob) as url:
        yield {"STEPWIRE_URL": url, "STEPWIRE_HOME": "/nonexistent"}


def test_what_waits_is_listed(world: World, environment: dict[str, str]) -> None:
    session = at_a_terminal(["call", "approvals_list"], environment=environment)

    assert session.code == Exit.DONE
    assert "alice@example.com" in session.text
    assert answers_of(world) == {}


@pytest.mark.parametrize(
    ("typed", "action", "says"),
    [
        ([(ASKS, "\n"), (FIELD, "7\n"), (FIELD, "\n")], "accept", "Your user has approved"),
        ([(ASKS, "d\n")], "decline", "Your user has refused"),
    ],
)
def test_a_person_decides_at_the_terminal(
    world: World, environment: dict[str, str], typed: list[tuple[str, str]], action: str, says: str
) -> None:
    approval_id = Decider.of(world, "modern").listed()[0]["approvalId"]

    session = at_a_terminal(["call", "approval_answer", f"approval_id={approval_id}"], typed, environment=environment)

    assert session.code == Exit.DONE
    assert "alice@example.com asks for your decision on Refund a customer" in session.text
    assert says in session.text
    ((given),) = answers_of(world).values()
    assert given["action"] == action
