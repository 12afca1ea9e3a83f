"""docs/promises.md is kept: nothing that a release promised by name is missing or differs."""

import re
from typing import Final

from tests.docs.pages import ROOT, page
from tests.docs.promised import broken, promised, released

PAGE: Final = page(ROOT / "docs" / "promises.md")


def test_nothing_that_was_promised_is_missing_or_differs() -> None:
    assert broken(released(), promised()) == [], "only a new major version may do this: docs/promises.md"


def test_what_is_new_is_recorded() -> None:
    assert broken(promised(), released()) == [], "run `python -m tests.docs.promised`"


def test_a_name_that_is_gone_or_has_another_value_breaks_a_promise_and_a_new_one_does_not() -> None:
    before = {"parameters": {"Alarms": {"Default": "on"}, "Events": {}}, "outputs": {"McpEndpoint": ""}}
    now = {"parameters": {"Alarms": {"Default": "all"}, "Events": {}, "Colour": {}}}

    assert broken(before, now) == ["parameters: Alarms", "outputs: McpEndpoint"]


def test_each_row_of_the_page_names_a_test_that_holds_it() -> None:
    rows = [line for line in PAGE.text.splitlines() if re.match(r"^\| \*\*", line)]

    assert len(rows) >= len(promised())
    assert [row for row in rows if not re.search(r"`[\w/]*tests/[\w/.]+`", row)] == []
