"""docs/cli.md shows what the commands print."""

import pytest

from packages.command.tests.cli_page import PAGE, written


@pytest.mark.long
def test_the_page_shows_what_every_command_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert written(page) == page, "run `python -m packages.command.tests.cli_page`"


def test_no_line_that_a_command_breaks_itself_is_wider_than_80_columns() -> None:
    shown = PAGE.read_text(encoding="utf-8").split("<!-- run: ")[1:]
    tables = [
        block
        for block in shown
        if block.startswith(("help", "tools", "list", "show", "call help", "tasks help", "sign in help", "set up help"))
    ]

    assert len(tables) == 8
    assert max(len(line) for block in tables for line in block.split("```")[1].splitlines()) <= 80
