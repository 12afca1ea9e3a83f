"""What a written reply means."""

from typing import Any

import pytest

from stepwire_local.stubs.replies import Answer, BadReply, Failure, Reply, read_reply


@pytest.mark.parametrize(
    ("written", "reply"),
    [
        (None, Reply(Answer(None))),
        ([1, 2], Reply(Answer([1, 2]))),
        ({"DelaySeconds": 2}, Reply(Answer({"DelaySeconds": 2}))),
        ({"Return": 1}, Reply(Answer(1))),
        ({"Return": {"Return": 1}, "DelaySeconds": 0.5}, Reply(Answer({"Return": 1}), 0.5)),
        ({"Throw": {"Error": "A.B", "Cause": "c"}, "DelaySeconds": 3}, Reply(Failure("A.B", "c"), 3.0)),
        ({"Throw": {"Error": "A"}}, Reply(Failure("A", ""))),
    ],
)
def test_a_reply_is_the_answer_or_one_of_the_forms(written: Any, reply: Reply) -> None:
    assert read_reply(written) == reply


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"Return": 1, "DelaySecond": 2}, "beside Return there can be DelaySeconds, not DelaySecond"),
        ({"Return": 1, "Throw": {"Error": "A"}}, "not both"),
        ({"Throw": "A"}, "Throw must be"),
        ({"Throw": {"Cause": "c"}}, "Throw must be"),
        ({"Throw": {"Error": "", "Cause": "c"}}, "Throw must be"),
        ({"Throw": {"Error": "A", "Causes": "c"}}, "Throw must be"),
        ({"Return": 1, "DelaySeconds": "2"}, "must be a number of seconds, not '2'"),
        ({"Return": 1, "DelaySeconds": -1}, "must be a number of seconds"),
        ({"Return": 1, "DelaySeconds": True}, "must be a number of seconds"),
        ({"Return": 1, "DelaySeconds": float("inf")}, "must be a number of seconds"),
    ],
)
def test_a_reply_that_is_wrong_says_what_would_be_right(written: Any, words: str) -> None:
    with pytest.raises(BadReply, match=words):
        read_reply(written)
