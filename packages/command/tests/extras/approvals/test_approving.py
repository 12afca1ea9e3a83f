"""Approvals by the command: it lists what waits for a person, and asks them at the terminal."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from packages.command.tests.terminal import CTRL_C, at_a_terminal
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_cli.__main__ import in_front
from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from tests.clients.endpoint import serving
from tests.extras.approvals.approving import GROUP, Decider, refunds, signed_in, started
from tests.kits import BOB, World
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


@pytest.fixture
def answering(world: World) -> list[str]:
    """The command with which a person answers the question."""
    return ["call", "approval_answer", f"approval_id={Decider.of(world, 'modern').listed()[0]['approvalId']}"]


def test_a_question_that_is_left_open_is_not_decided(
    world: World, environment: dict[str, str], answering: list[str]
) -> None:
    session = at_a_terminal(answering, [(ASKS, CTRL_C)], environment=environment)

    assert session.code == Exit.WAITING
    assert "The tool asks a question first, which was left open. Nothing was started or decided." in session.text
    assert answers_of(world) == {}


def test_without_a_terminal_nobody_decides(
    world: World,
    environment: dict[str, str],
    answering: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    code = run(in_front(answering))

    assert code == Exit.WAITING
    assert "needs a terminal, at which a person answers. Nothing was started or decided." in capsys.readouterr().err
    assert answers_of(world) == {}


@pytest.mark.parametrize(
    ("typed", "action", "says"),
    [
        ([(ASKS, "\n"), (FIELD, "7\n"), (FIELD, "\n")], "accept", "Your user has approved"),
        ([(ASKS, "d\n")], "decline", "Your user has refused"),
    ],
)
def test_a_person_decides_at_the_terminal(
    world: World,
    environment: dict[str, str],
    answering: list[str],
    typed: list[tuple[str, str]],
    action: str,
    says: str,
) -> None:
    session = at_a_terminal(answering, typed, environment=environment)

    assert session.code == Exit.DONE
    assert "alice@example.com asks for your decision on Refund a customer" in session.text
    assert says in session.text
    ((given),) = answers_of(world).values()
    assert given["action"] == action
