"""The oracle of function authorizer: within bounds, and each wrong verdict is detected."""

import json

import pytest

from tests.extras.door import fuzzing as authorizer
from tests.fuzz.test_targets import HEADERS


@pytest.mark.parametrize("value", [*HEADERS.values(), "Bearer " * 1_000, "." * 10_000, f"{'A' * 5_000}.AA.AA"])
def test_no_header_of_a_token_takes_much_time(value: str) -> None:
    authorizer.check_answer(value, authorizer.answer_to(value))


def test_a_wrong_verdict_on_a_token_is_detected() -> None:
    seed = json.loads(authorizer.seeds()[0])
    valid, forged = authorizer.header_of(seed), authorizer.header_of({**seed, "signature": "AA"})
    allowed, denied = map(authorizer.answer_to, (valid, forged))

    for header, answer, words in (
        (forged, allowed, "only a valid token may be accepted"),
        (valid, denied, "a valid token must be accepted"),
        (valid, {**allowed, "context": {"verified": "another"}}, "this very token"),
        (forged, {**denied, "reason": "the signature"}, "must be the same"),
    ):
        with pytest.raises(AssertionError, match=words):
            authorizer.check_answer(header, answer)
