"""The table of trials and the pages agree, in both directions; and what the run writes."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest

from tests.docs.pages import PAGES, ROOT
from tools.first_run import keys, permissions, restoring
from tools.first_run.journal import Made
from tools.first_run.removal import Left
from tools.first_run.report import Head, Row, report
from tools.first_run.table import NOT_TRIED, TRIALS
from tools.first_run.trial import Seen, Sentence, Verdict

SENTENCES: Final = [*(one for trial in TRIALS for one in trial.sentences), *NOT_TRIED]
HEAD: Final = Head(
    datetime(2026, 11, 29, 2, 0, tzinfo=UTC), "eu-west-1", "1.0.0", "stepwire-first-run-ab12cd", is_emulated=False
)
_SAYS_SO: Final = re.compile(
    r"(?:not|none of (?:this|these changes)|nothing of it)(?: has| was)?(?: been)? tried|untried|has not run on",
    re.IGNORECASE,
)
OF_OTHERS: Final = ("docs/issuers/", "CHANGELOG.md")
"""Issuers are others' accounts; a changelog says what was."""


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: f"{one.page}: {one.words[:30]}")
def test_a_sentence_of_the_table_is_on_its_page(sentence: Sentence) -> None:
    assert flat(sentence.words) in flat((ROOT / sentence.page).read_text(encoding="utf-8"))


def test_each_not_tried_of_the_pages_has_a_trial_or_a_reason() -> None:
    pages = {one.relative_to(ROOT).as_posix(): flat(one.read_text(encoding="utf-8")) for one in PAGES}
    pages |= {"template.yaml": flat((ROOT / "template.yaml").read_text(encoding="utf-8"))}
    found = [
        (page, text[max(0, hit.start() - 60) : hit.end() + 60])
        for page, text in pages.items()
        if not page.startswith(OF_OTHERS)
        for hit in _SAYS_SO.finditer(text)
        if not is_known(page, text, hit)
    ]

    assert found == []


def is_known(page: str, text: str, hit: re.Match[str]) -> bool:
    """Tell whether a sentence of the table has these words, at this place of its page."""
    for one in SENTENCES:
        words = flat(one.words)
        if one.page == page and (
            not words
            or any(
                place.start() <= hit.start() and hit.end() <= place.end()
                for place in re.finditer(re.escape(words), text)
            )
        ):
            return True
    return False


def test_names_are_unique_and_the_endpoint_is_removed_last() -> None:
    names = [one.name for one in TRIALS]

    assert len(set(names)) == len(names)
    assert (names[0], names[-1]) == ("permissions to deploy", "permissions to remove")
    assert [one.name for one in TRIALS if not one.minutes < one.most] == []


def test_the_role_has_the_actions_of_the_page_and_no_other_in_policies_that_iam_takes() -> None:
    allowed = [one for policy in permissions.policies() for one in policy["Statement"]]
    actions = {action for one in allowed for action in one["Action"]}

    assert actions == {action for some in permissions.rows().values() for action in some}
    assert len(permissions.policies()) <= 10, "IAM attaches ten to a role"
    (passing,) = [one for one in allowed if "iam:PassRole" in one["Action"]]
    assert passing["Action"] == ["iam:PassRole"]
    assert "Condition" in passing


def test_the_key_has_the_statements_of_the_page() -> None:
    statements = keys.key_policy("111122223333", "eu-west-1")["Statement"]

    assert [one["Sid"] for one in statements] == ["Default", "Logs", "DeadLettersOfTheRules"]
    assert statements[1]["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    assert "111122223333" in str(statements[2])


def test_the_table_is_imported_as_the_page_does() -> None:
    made = restoring.creation("mine")

    assert made["TableName"] == "mine"
    assert [one["AttributeName"] for one in made["KeySchema"]] == ["pk", "sk"]


# ---------------------------------------------------------- What it writes


def rows(verdict: Verdict) -> list[Row]:
    return [Row(TRIALS[0], Seen(verdict, "a | b\nc")), Row(TRIALS[1], None)]


def test_a_row_has_what_was_seen_and_names_the_sentence_that_may_change() -> None:
    page = report(HEAD, rows(Verdict.NOT_SO), [])

    assert "| not so | a / b c |" in page
    assert "| not tried here | the run ended before it |" in page
    assert "- docs/deploying.md, “**It was not tried in an account**”: not so (permissions to deploy)" in page
    assert TRIALS[1].sentences[0].page not in page.partition("## Sentences")[2].partition("## Not tried")[0]


@pytest.mark.parametrize("verdict", Verdict)
def test_of_an_emulated_aws_every_row_says_so_and_no_sentence_changes(verdict: Verdict) -> None:
    page = report(replace(HEAD, is_emulated=True), rows(verdict), [])

    lines = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == 2
    assert all("| emulated: " in line for line in lines)
    assert "## Sentences that may change now\n\nNone.\n" in page


def test_what_is_left_is_named_with_its_command() -> None:
    page = report(HEAD, [], [Left(Made("bucket", "b"), "not empty", "aws s3 rb s3://b --force --region eu-west-1")])

    assert "- bucket b (not empty): `aws s3 rb s3://b --force --region eu-west-1`" in page
