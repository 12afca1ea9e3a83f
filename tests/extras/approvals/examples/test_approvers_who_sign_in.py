"""Two people at two clients of one endpoint: who asks is not asked, and who decides is of finance by their token.

Both sign in at the test issuer's page, as any client's user does.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx
import pytest
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from stepwire_client import Callbacks, TaskClient, Working, connect
from stepwire_client.client import Mode
from stepwire_local import LocalStack
from stepwire_local.issuer import SHAPES, Client, LocalIssuer
from tests.ports import free_port
from tests.sign_in.site import CALLBACK, GIVEN_ID, ROOT, proof
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.anyio
PEOPLE: Final = {"alice": (), "ann": ("staff", "finance"), "fred": ("financiers",)}
REFUND: Final = {"order_id": "A-1003", "amount": "890.00", "currency": "EUR", "reason": "A leg is short."}
Json = dict[str, Any]


class Place:
    """An endpoint with the examples, and its issuer."""

    def __init__(self, url: str, issuer: LocalIssuer) -> None:
        self.url, self._issuer = url, issuer

    def headers_of(self, person: str) -> dict[str, str]:
        """Return what a person's client sends, after the person has chosen their name on the issuer's page."""
        authorize, token = f"{self._issuer.origin}/oauth2/authorize", f"{self._issuer.origin}/oauth2/token"
        known = {"client_id": GIVEN_ID, "redirect_uri": CALLBACK, "resource": self.url}
        verifier, challenge = proof()
        asked = {**known, "response_type": "code", "code_challenge": challenge, "code_challenge_method": "S256"}
        page = httpx.get(f"{authorize}?{urlencode(asked)}", timeout=HANG_GUARD).text
        (link,) = [one for one in re.findall(r'href="([^"]+)"', page) if one.endswith(f"={person}")]
        back = httpx.get(self._issuer.origin + unescape(link), timeout=HANG_GUARD).headers["location"]
        code = parse_qs(urlsplit(back).query)["code"][0]
        form = {**known, "grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        tokens: Json = httpx.post(token, data=form, timeout=HANG_GUARD).json()
        return {"Authorization": f"Bearer {tokens['access_token']}"}


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with LocalIssuer(SHAPES["cognito"], {GIVEN_ID: Client((CALLBACK,))}, people=PEOPLE) as issuer:
        parameters = issuer.shape.parameters(issuer.url, url)
        with LocalStack(
            ROOT / "stack.yaml", others=[ROOT / "examples/template.yaml"], port=port, parameters=parameters
        ):
            yield Place(url, issuer)


class User:
    """Answers each form the same way, and remembers what was asked."""

    def __init__(self, answer: ElicitResult) -> None:
        self.asked: list[str] = []
        self._answer = answer

    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return self._answer


def client_of(place: Place, person: str, user: User, mode: Mode = "auto") -> Any:
    callbacks = Callbacks(elicit=user.elicit)
    return connect(place.url, headers=place.headers_of(person), callbacks=callbacks, mode=mode)


async def tools_of(client: TaskClient) -> set[str]:
    return {tool.name for tool in (await client.mcp.list_tools()).tools}


async def waiting_for(client: TaskClient) -> list[Json]:
    """Return what waits for a person, once there is something."""
    with anyio.fail_after(HANG_GUARD):
        while not (found := content_of(await client.call_tool("approvals_list", {}))["approvals"]):
            await anyio.sleep(0.05)
    return found


def content_of(result: CallToolResult) -> Json:
    assert result.structured_content is not None, result.content
    return result.structured_content


@pytest.mark.parametrize(
    ("mode", "answer", "expected"),
    [
        ("auto", ElicitResult(action="accept", content={"amount": 600}), {"status": "refunded", "refunded": "600.00"}),
        ("legacy", ElicitResult(action="decline"), {"status": "declined", "refunded": "0.00"}),
    ],
    ids=["approves, by 2026-07-28", "refuses, by 2025-11-25"],
)
async def test_the_caller_is_never_asked_and_gets_what_a_second_person_decides(
    place: Place, mode: Mode, answer: ElicitResult, expected: Json
) -> None:
    caller, approver = User(ElicitResult(action="accept", content={"amount": 890})), User(answer)
    async with client_of(place, "alice", caller) as alice, client_of(place, "ann", approver, mode) as ann:
        handle = await alice.create_task("approve_refund", REFUND)
        assert isinstance(handle, Working)
        (question,) = await waiting_for(ann)
        waiting = await alice.get_task(handle.task_id)
        await ann.call_tool("approval_answer", {"approval_id": question["approvalId"]})
        result = content_of(await alice.task_result(handle.task_id))

    assert (waiting.status_message or "").startswith("Waits for one of finance to decide")
    assert (question["askedBy"], question["arguments"]) == ("alice", REFUND)
    assert caller.asked == []
    assert len(approver.asked) == 1
    assert result == result | expected | {"decided_by": "finance"}
    assert result["why"].startswith("ann of finance ")


async def test_only_whose_token_has_the_group_is_shown_the_tools(place: Place) -> None:
    user = User(ElicitResult(action="cancel"))
    shown = dict[str, bool]()
    for person in PEOPLE:
        async with client_of(place, person, user) as client:
            shown[person] = {"approvals_list", "approval_answer"} <= await tools_of(client)

    assert shown == {"alice": False, "ann": True, "fred": False}


@pytest.mark.long
async def test_the_caller_decides_by_no_client_of_theirs_though_they_know_the_question(place: Place) -> None:
    user = User(ElicitResult(action="accept", content={"amount": 890}))
    async with client_of(place, "alice", user) as alice, client_of(place, "ann", user) as ann:
        handle = await alice.create_task("approve_refund", REFUND)
        assert isinstance(handle, Working)
        (question,) = await waiting_for(ann)
        async with client_of(place, "alice", user) as another:
            with pytest.raises(Exception, match="approval_answer"):
                await another.call_tool("approval_answer", {"approval_id": question["approvalId"]})
        still = await alice.get_task(handle.task_id)
        await alice.cancel_task(handle.task_id)

    assert (still.status, user.asked) == ("working", [])
