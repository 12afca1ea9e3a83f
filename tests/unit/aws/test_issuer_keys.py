"""The keys of an issuer: how often it is asked for them, and how long they count where it does not answer."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from packages.local.tests.issuer import own_key, public_jwk
from stepwire.aws.issuer_documents import Unanswered
from stepwire.aws.issuer_keys import IssuerKeys
from stepwire.json_text import JsonObject

START: Final = datetime(2026, 11, 26, 12, tzinfo=UTC)
OLD, NEW = ["old"], ["old", "new"]
SILENT: Final = list[str]()
DAY: Final = 86_400


class Rotating:
    """An issuer that lists these keys, one answer after another and the last for good; with none it does not answer."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers, self.asked = answers, 0
        self.faults = list[str]()
        self.keys = IssuerKeys("https://issuer.example", lambda fault: self.faults.append(str(fault)), self._read)

    def knows(self, kid: str, seconds: float) -> bool:
        """Tell whether a key is known so many seconds after the start."""
        return self.keys.key_of(kid, START + timedelta(seconds=seconds)) is not None

    def _read(self, _issuer: str) -> JsonObject:
        listed = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        if not listed:
            raise Unanswered("URLError")
        return {"keys": [public_jwk(own_key(), kid) for kid in listed]}


@pytest.mark.parametrize(
    ("answers", "asked_for", "times"),
    [
        pytest.param([OLD], [(0, "old", True), (7_200, "old", True)], 1, id="two hours"),
        pytest.param([OLD], [(0, "old", True), (7_201, "old", True)], 2, id="longer"),
        pytest.param([OLD, NEW], [(0, "old", True), (60, "new", False), (61, "new", True)], 2, id="a rotation"),
        pytest.param([OLD], [(0, "no", False), *[(one, "no", False) for one in range(1, 61)]], 1, id="a key of nobody"),
        pytest.param([SILENT, OLD], [(0, "old", False), (10, "old", False), (11, "old", True)], 2, id="none at first"),
        pytest.param([OLD, SILENT], [(0, "old", True), (7_201, "old", True), (7_230, "old", True)], 2, id="none later"),
        pytest.param([OLD, SILENT], [(0, "old", True), (DAY, "old", True), (DAY + 1, "old", False)], 2, id="for a day"),
    ],
)
def test_how_often_an_issuer_is_asked_and_how_long_its_keys_count(
    answers: list[list[str]], asked_for: list[tuple[float, str, bool]], times: int
) -> None:
    issuer = Rotating(*answers)

    known = [(seconds, kid, issuer.knows(kid, seconds)) for seconds, kid, _ in asked_for]

    assert known == asked_for
    assert issuer.asked == times
    assert issuer.faults == ["URLError"] * sum(not one for one in answers)
