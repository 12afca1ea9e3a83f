"""Sentences of the documents that say "only", "nothing" or a number of things agree with the template and the code."""

import re
from typing import Final

import pytest

from benchmarks.cost import calls, idle
from tests.docs.pages import ROOT
from tests.extras import parts
from tests.template.chosen import IN_TEMPLATE, stack

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
HEAD: Final = README.partition("```")[0]
NEED_THE_EXAMPLES: Final = {
    "make demo": "",
    "make hosts": "tools/hosts/site.py",
    "make screenshots": "tools/pictures/pages.py",
    "make bench": "benchmarks/end_to_end/stack.py",
}
"""Each command that fails without the folder examples/, and its module that serves them."""
DO_WITHOUT_THEM: Final = {
    "packages/local/tests/console/machines.py",
    "tests/docs/test_claims.py",
    "tests/docs/test_commands.py",
    "tests/docs/test_definitions.py",
}
"""Modules that use the examples where they are."""
_NAMES_THE_EXAMPLES: Final = re.compile(r'"examples/\w+\.\w+"|\b(?:ROOT|_ROOT|parents\[\d\]) / "examples"')


def text_of(name: str) -> str:
    """Return a file's text as if each paragraph were one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_the_readme_names_all_that_runs_while_nobody_calls() -> None:
    made = stack("iam")
    rules = [one for one in made.all_of("AWS::Events::Rule").values() if "ScheduleExpression" in one]
    (schedule,) = {one["ScheduleExpression"] for one in rules}
    scheduled = sorted(target["Id"] for one in rules for target in one["Targets"])
    sources = [one["EventSourceArn"] for one in made.all_of("AWS::Lambda::EventSourceMapping").values()]
    polled = [queue for queue in made.all_of("AWS::SQS::Queue") if f"{queue}.Arn" in sources]

    of_extras = [queue for part in IN_TEMPLATE for queue in part.queues]
    assert (schedule, scheduled) == ("rate(15 minutes)", ["catalog", "sweep"])
    assert sorted(polled) == sorted(["WakeUps", *of_extras])
    assert "functions `sweep` and `catalog` every 15 minutes, and Lambda polls its queues" in HEAD


def test_the_readme_says_that_its_price_is_by_list_prices() -> None:
    assert idle.total() < 2
    assert "By list prices, an idle endpoint costs [less than $2 a month]" in HEAD


def test_the_readme_says_where_stepwire_has_not_run() -> None:
    assert "**Status.** Stepwire has not run on an AWS account yet" in HEAD


@pytest.mark.parametrize(
    ("page", "words"), [("docs/cost.md", "make ten calls together, five each"), ("template.yaml", "some ten calls")]
)
def test_a_run_of_the_schedule_that_finds_nothing_makes_as_many_calls_as_is_said(page: str, words: str) -> None:
    of_extras = [call for part in parts("swept") for call in part.CALLS]
    assert (len(calls.SWEEP) - len(of_extras), len(calls.COMPILE)) == (5, 5)
    assert words in text_of(page)


def test_what_needs_the_examples_is_what_the_readme_names() -> None:
    files = [
        one
        for folder in ("tests", "tools", "benchmarks", "packages", "release")
        for one in (ROOT / folder).rglob("*.py")
    ]
    users = {one.relative_to(ROOT).as_posix() for one in files if _NAMES_THE_EXAMPLES.search(one.read_text("utf-8"))}
    theirs = {one for one in users if one.startswith("tests/") and "/examples/" in one}

    assert users - theirs - DO_WITHOUT_THEM == set(filter(None, NEED_THE_EXAMPLES.values()))
    (sentence,) = re.findall(r"Only what shows them needs them: (.+)\.", README)
    assert re.findall("`(.+?)`", sentence) == list(NEED_THE_EXAMPLES)


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md"])
def test_who_else_sees_a_task_is_said_where_it_is_said_whose_it_is(page: str) -> None:
    (_, said) = re.split("[Nn]o other caller can read, list, answer or cancel it", text_of(page))

    assert re.search(r"With `(Authorizer=)?none` all callers are one principal", said[:800])


def test_how_it_works_has_a_row_for_every_function() -> None:
    rows = [one for one in (ROOT / "docs/how_it_works.md").read_text("utf-8").splitlines() if "| function " in one]
    of_extras = {found[1] for row in rows if (found := re.search(r"stepwire/extras/(\w+)/", row))}
    of_core = {row.split()[2] for row in rows if "stepwire/extras/" not in row}

    assert of_core == {one.parent.name for one in ROOT.glob("functions/*/app.py")}
    assert of_extras >= {one.parent.name for one in ROOT.glob("functions/extras/*/app.py")}
