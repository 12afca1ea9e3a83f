"""The limit in docs/extras/lines.md is one that a manifest may have, with the numbers that the page says."""

from datetime import timedelta

from stepwire.extras.lines.limits import MOST_WAITING, Concurrency, Rules, Starts
from stepwire.manifests.reading import read_manifest
from stepwire.tasks.limiter import reserved_of
from tests.docs.pages import ROOT, page

PAGE = page(ROOT / "docs/extras/lines.md")
SMALLEST = "name: pick_goods\ndescription: Picks.\nstate_machine: Pick\ninput_schema: {type: object}\n"


def limit_of(lines: str) -> Concurrency | None:
    return read_manifest(SMALLEST + lines).tool().kept_by("lines", Concurrency)


def test_the_limit_of_the_page_is_that_of_a_manifest() -> None:
    (block,) = PAGE.blocks("yaml")

    limit = limit_of(block)

    waiting, starts = timedelta(hours=6), Starts(60, timedelta(minutes=1))
    assert limit == Concurrency("pick_goods", Rules(5, starts, MOST_WAITING, waiting, 2), "caller")


def test_the_page_says_how_many_turns_are_reserved() -> None:
    assert "two turns of `most`, or a fifth of many" in PAGE.text

    assert [reserved_of(most) for most in (1, 3, 5, 15, 100)] == [0, 2, 2, 3, 20]
