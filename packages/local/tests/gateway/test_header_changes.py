"""Parameter mapping of responses: which headers of a function's response API Gateway changes."""

from collections.abc import Sequence

import pytest

from stepwire_local.gateway.header_changes import changed, changes_of

HEADERS = [("content-type", "application/json"), ("challenge", "Bearer")]


def after(*changes: tuple[str, str], status: int = 403) -> Sequence[tuple[str, str]]:
    listed = [{"Destination": destination, "Source": source} for destination, source in changes]
    return changed(status, HEADERS, changes_of({"403": {"ResponseParameters": listed}}))


@pytest.mark.parametrize(
    ("destination", "source", "expected"),
    [
        ("overwrite:header.WWW-Authenticate", "$response.header.Challenge", [*HEADERS, ("www-authenticate", "Bearer")]),
        ("overwrite:header.challenge", "Basic", [HEADERS[0], ("challenge", "Basic")]),
        ("append:header.challenge", "Basic", [*HEADERS, ("challenge", "Basic")]),
        ("remove:header.challenge", "''", HEADERS[:1]),
        ("overwrite:header.challenge", "$response.header.missing", HEADERS),
    ],
)
def test_a_header_is_set_added_or_removed(destination: str, source: str, expected: list[tuple[str, str]]) -> None:
    assert after((destination, source)) == expected


def test_changes_apply_in_their_order() -> None:
    copied, removed = (
        ("overwrite:header.www-authenticate", "$response.header.challenge"),
        ("remove:header.challenge", "''"),
    )

    assert after(copied, removed) == [HEADERS[0], ("www-authenticate", "Bearer")]


def test_another_status_is_left_alone() -> None:
    assert after(("remove:header.challenge", "''"), status=200) == HEADERS


@pytest.mark.parametrize(
    ("destination", "source", "reason"),
    [
        ("overwrite:statuscode", "401", "not served"),
        ("overwrite:header.a", "$response.body.error", "not served"),
        ("overwrite:header.a", "Bearer ${response.header.b}", "not served"),
        ("overwrite:header.x-amzn-remapped-www-authenticate", "a", "reserved"),
        ("overwrite:header.a", "$response.header.x-amzn-remapped-www-authenticate", "reserved"),
        ("append:header.Access-Control-Allow-Origin", "*", "reserved"),
    ],
)
def test_what_is_not_served_or_not_allowed_is_refused(destination: str, source: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        after((destination, source))
