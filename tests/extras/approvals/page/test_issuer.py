"""The operator's issuer over HTTP: asked at its own URLs alone, within bounds, and never through a redirect."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stepwire.extras.approvals.page.issuer import HttpsIssuer
from stepwire.extras.approvals.page.signing_in import Endpoints, IssuerUnavailable, SignInRefused
from stepwire_local.http_server import LoopbackServer, QuietHandler

METADATA = "/.well-known/openid-configuration"
Answers = dict[str, tuple[int, Any]]


class Served(LoopbackServer):
    """An issuer that answers each path as a test says."""

    def __init__(self) -> None:
        self.answers: Answers = {}
        self.asked: list[str] = []
        super().__init__(_handler_of(self), 0)
        self.says()

    def says(self, **changes: Any) -> None:
        """Let it have these metadata."""
        usual = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/a",
            "token_endpoint": f"{self.origin}/t",
        }
        self.answers[METADATA] = (200, {**usual, **changes})


def _handler_of(served: Served) -> type[QuietHandler]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self._reply()

        def do_POST(self) -> None:
            self.body(65_536)
            self._reply()

        def _reply(self) -> None:
            served.asked.append(self.path)
            status, answer = served.answers.get(self.path, (404, {}))
            location = {"location": f"{served.origin}/elsewhere"} if 300 <= status < 400 else {}
            text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.reply(status, text, location)

    return Handler


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


def test_it_is_asked_where_its_metadata_say_which_are_read_once(served: Served) -> None:
    issuer = HttpsIssuer(served.origin)
    served.answers["/t"] = (200, {"access_token": "a.b.c"})

    assert issuer.endpoints() == Endpoints(f"{served.origin}/a", f"{served.origin}/t")
    assert issuer.access_token({"code": "x"}) == "a.b.c"
    assert served.asked == [METADATA, "/t"]


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/t"},
        {"token_endpoint": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
    ],
)
def test_metadata_of_somebody_else_or_without_tls(served: Served, changes: dict[str, Any]) -> None:
    served.says(**changes)

    with pytest.raises(IssuerUnavailable):
        HttpsIssuer(served.origin).endpoints()


@pytest.mark.parametrize("answer", [(302, {}), (500, {}), (200, b"no json"), (200, b"x" * 70_000), (200, [])])
def test_an_answer_that_cannot_be_used(served: Served, answer: tuple[int, Any]) -> None:
    served.answers[METADATA] = answer

    with pytest.raises(IssuerUnavailable):
        HttpsIssuer(served.origin).endpoints()

    assert "/elsewhere" not in served.asked


def test_a_code_that_the_issuer_does_not_take(served: Served) -> None:
    served.answers["/t"] = (400, {"error": "invalid_grant"})

    with pytest.raises(SignInRefused, match="of use only once"):
        HttpsIssuer(served.origin).access_token({"code": "used"})


@pytest.mark.parametrize("url", ["http://issuer.example", "http://10.0.0.1"])
def test_an_issuer_without_tls_is_not_asked_unless_it_is_on_this_machine(url: str) -> None:
    with pytest.raises(IssuerUnavailable):
        HttpsIssuer(url).endpoints()
