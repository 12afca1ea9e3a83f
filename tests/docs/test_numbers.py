"""docs/numbers.md is what its command writes from the recorded results."""

from tests.docs.numbers import PAGE, page


def test_the_page_is_what_the_command_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.numbers`"
