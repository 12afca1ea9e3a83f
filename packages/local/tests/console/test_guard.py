"""Who may use the console."""

import pytest

from stepwire_local.console.guard import refusal

HOST = {"host": "127.0.0.1:3000"}
OURS = {**HOST, "origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-origin", "x-stepwire-console": "1"}


@pytest.mark.parametrize(
    ("method", "headers", "is_page", "words"),
    [
        ("GET", HOST, False, None),
        ("GET", {"host": "localhost:8080"}, False, None),
        ("GET", {**HOST, "sec-fetch-site": "none"}, True, None),
        ("GET", {**HOST, "sec-fetch-site": "cross-site"}, True, None),  # a link that leads to the page
        ("GET", OURS, False, None),
        ("POST", OURS, False, None),
        ("GET", {**HOST, "sec-fetch-site": "cross-site"}, False, "page elsewhere"),
        ("GET", {**HOST, "sec-fetch-site": "same-site"}, False, "page elsewhere"),  # of another port of this machine
        ("GET", {**HOST, "origin": "http://127.0.0.1:8000"}, False, "page elsewhere"),
        ("GET", {**HOST, "origin": "null"}, False, "page elsewhere"),  # of a sandboxed frame
        ("GET", {**HOST, "origin": "https://127.0.0.1:3000"}, True, "page elsewhere"),
        ("GET", {"host": "rebound.example:3000"}, True, "another host"),
        ("GET", {"host": "rebound.example", "origin": "http://rebound.example"}, False, "another host"),
        ("GET", {}, True, "another host"),
        ("POST", {**OURS, "origin": "https://evil.example"}, False, "page elsewhere"),
        ("POST", {**OURS, "sec-fetch-site": "cross-site"}, False, "page elsewhere"),
        ("POST", {name: OURS[name] for name in OURS if name != "origin"}, False, "needs the header"),
        ("POST", {name: OURS[name] for name in OURS if name != "x-stepwire-console"}, False, "needs the header"),
        ("PUT", OURS, False, "Only GET and POST"),
        ("OPTIONS", OURS, False, "Only GET and POST"),
    ],
)
def test_only_pages_of_the_console_and_programs_of_this_machine(
    method: str, headers: dict[str, str], is_page: bool, words: str | None
) -> None:
    why = refusal(method, headers, is_page=is_page)

    assert why is None if words is None else words in (why or "")
