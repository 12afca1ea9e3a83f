"""A person whom an operator has blocked decides nothing on the page, also with a form that was opened before."""

from datetime import timedelta
from typing import Final

import pytest

from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.page.links import Link, LinkMode, sealed
from stepwire.extras.approvals.page.page import ApprovalPage, PageRequest, PageResponse
from stepwire.extras.approvals.page.pages import DECISION, FORM_TOKEN
from stepwire.extras.approvals.page.signing_in import COOKIE, Client, Endpoints, SigningIn
from stepwire.extras.approvals.rules import Approver, HasClaim
from stepwire.json_text import JsonObject, write
from stepwire.protocol.tokens import encode
from stepwire.tasks.ids import TaskId, TaskKey
from tests.extras.approvals.approving import refunds, started
from tests.extras.approvals.built import approvals_in
from tests.kits import ALICE

ISSUER: Final = "https://issuer.example"
SECRET: Final = b"a secret"
PERSON, PRINCIPAL = "a" * 32, "b" * 32
SAME: Final = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}


class OneIssuer:
    """An issuer at which one person has signed in."""

    def endpoints(self) -> Endpoints:
        return Endpoints(f"{ISSUER}/authorize", f"{ISSUER}/token")

    def access_token(self, form: object) -> str:
        claims = {"iss": ISSUER, "sub": "frida", "aud": "the endpoint", "exp": 4_000_000_000}
        return f".{encode(write(claims).encode())}."


def frida(_claims: JsonObject) -> Approver:
    return Approver(PERSON, "frida", frozenset({HasClaim("groups", ("finance",))}), principal=PRINCIPAL)


class Page:
    """The page with a question of Alice's, and a browser of Frida's."""

    def __init__(self) -> None:
        self.world = world = refunds()
        task_id = started(world)
        key = QuestionKey(TaskKey(ALICE, TaskId(task_id)), 1)
        link = Link(key, None, world.clock.now() + timedelta(days=1), needs_sign_in=True)
        client = Client("the-page", ISSUER, frozenset({"the endpoint"}), "the endpoint", (), "", "https://mcp.example")
        self.signing_in = SigningIn(client, OneIssuer(), lambda: SECRET, lambda: [SECRET], bytes, frida)
        self.link = sealed(link, SECRET)
        self.page = ApprovalPage(
            approvals_in(world),
            LinkMode.SIGN_IN,
            "https://mcp.example",
            "Stepwire",
            lambda: SECRET,
            lambda: [SECRET],
            self.signing_in,
            world.refuses,
        )

    def signs_in(self) -> PageResponse:
        begun = self.signing_in.begin(self.link, (), self.world.clock.now())
        state = begun.url.partition("state=")[2].partition("&")[0]
        verifier = begun.cookie.partition("=")[2].partition(";")[0]
        return self.page.answer(PageRequest("GET", "", f"code=c&state={state}", cookies={COOKIE: verifier}))

    def votes(self, opened: PageResponse) -> PageResponse:
        token = opened.html.partition(f'name="{FORM_TOKEN}" value="')[2].partition('"')[0]
        body = f"{FORM_TOKEN}={token}&{DECISION}=refuse".encode()
        return self.page.answer(PageRequest("POST", self.link, headers=SAME, body=body))


@pytest.mark.parametrize("one", [PERSON, PRINCIPAL])
def test_who_is_blocked_cannot_sign_in(one: str) -> None:
    page = Page()
    page.world.blocked.add(one)

    answer = page.signs_in()

    assert answer.status == 403
    assert "You may not use this endpoint at present. Ask whoever runs it." in answer.html
    assert "May it go on?" not in answer.html


@pytest.mark.parametrize("one", [PERSON, PRINCIPAL])
def test_a_form_that_was_opened_before_the_block_decides_nothing(one: str) -> None:
    page = Page()
    opened = page.signs_in()
    assert (opened.status, "May it go on?" in opened.html) == (200, True)
    page.world.blocked.add(one)

    refused = page.votes(opened)
    page.world.blocked.clear()
    counted = page.votes(opened)

    assert (refused.status, counted.status) == (403, 200)
    assert "You have refused" in counted.html
    assert [entry.action.word for entry in page.world.audit].count("declined") == 1
