"""A released client of 2025-11-25 has its user decide what waits for them. `stepwire call` does it in 2026-07-28."""

from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.clients.endpoint import serving
from tests.clients.programs import LEGACY_PYTHON, in_python
from tests.extras.approvals.approving import GROUP, ask, refunds, signed_in, started
from tests.kits import BOB
from tests.server.messages import ACCEPT, answers_of

# Why long: it starts a client's process; tests/server/test_approval_tools.py asserts the same of the server.
pytestmark = pytest.mark.long

DRIVER: Final = Path(__file__).parent / "mcp_1.py"


def test_a_wrong_form_is_filled_again_and_each_question_gets_its_own_answer() -> None:
    world = refunds()
    ask(world, started(world), "second")
    endpoint = signed_in(world, "bob", GROUP)
    wrong = {"action": "accept", "content": {"amount": 101}}
    plan = {"answers": [wrong, ACCEPT, {"action": "cancel"}]}

    def as_bob(request: HttpRequest) -> HttpResponse:
        return endpoint.handle(replace(request, caller=replace(request.caller, principal=BOB)))

    with serving(as_bob) as url:
        seen = in_python(LEGACY_PYTHON, DRIVER, url, plan)

    assert [text.partition(" asks")[0] for text in seen["asked"]] == ["alice@example.com"] * 3
    assert "101 is greater than the maximum" in seen["asked"][1]
    assert [text.partition(",")[0] for text in seen["said"]] == [
        "Your user has approved",
        "Nothing was decided: the question was closed without an answer. Do not decide for your user; call "
        "approval_answer again when they want to answer.",
    ]
    assert [one["content"] for one in answers_of(world).values()] == [{"amount": 7}]
    assert world.faults == []
