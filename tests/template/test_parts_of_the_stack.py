"""The core's template and the parts of extras: whichever are chosen, the stack refers to nothing that it has not."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any, Final, cast

import pytest

from stepwire_cli.deployment.parts import extras_of, files_of, put_together, read_core, read_part
from stepwire_local.cloudformation.intrinsics import resolve
from tests.template.chosen import stack
from tests.template.document import ROOT, reading, references

EXTRAS: Final = extras_of(ROOT)
CHOICES: Final = [(), *combinations(EXTRAS, 1), *combinations(EXTRAS, 2), EXTRAS]
_MADE_BY_SAM: Final = re.compile(r"(?<=Function)Role|(?<=Api)(\.Stage|liveStage)$")


document = cache(read_part)


@cache
def core() -> dict[str, Any]:
    return read_core(ROOT)


def conditions(value: Any, key: str = "") -> Iterator[str]:
    """Yield the conditions that a value names: of resources and outputs, in `!If`, and in other conditions."""
    match value:
        case {"Fn::If": [str(name), *branches]}:
            yield name
            yield from conditions(branches)
        case dict():
            parts = cast(dict[str, Any], value).items()
            yield from (one for name, part in parts for one in conditions(part, name))
        case list():
            yield from (one for part in cast(list[Any], value) for one in conditions(part))
        case str() if key == "Condition":
            yield value
        case _:
            pass


@pytest.mark.parametrize("chosen", CHOICES, ids=lambda chosen: " ".join(chosen) or "none")
def test_a_stack_refers_to_nothing_that_it_has_not(chosen: tuple[str, ...]) -> None:
    whole = put_together(core(), [document(path) for path in files_of(ROOT, chosen)])
    known = {*whole["Resources"], *whole["Parameters"]}

    named = {_MADE_BY_SAM.sub("", one) for one in references([whole["Resources"], whole["Outputs"], whole["Globals"]])}
    of_rules = references([whole["Rules"], whole["Conditions"]])

    assert {one for one in named if not one.startswith("AWS")} <= known | {"Scheme", "Host"}
    assert {one for one in of_rules if not one.startswith("AWS")} <= set(whole["Parameters"])
    assert set(conditions([whole["Resources"], whole["Outputs"], whole["Globals"], whole["Conditions"]])) <= set(
        whole["Conditions"]
    )
    assert {one.get("Type") for one in whole["Resources"].values()} >= {"AWS::Serverless::Function"}
    assert all("Type" in one for one in whole["Resources"].values()), "what a part changes is there"
    groups = whole["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert Counter(name for group in groups for name in group["Parameters"]) == Counter([*whole["Parameters"]])


def test_a_choice_publishes_a_version_of_function_mcp_only_with_a_difference_that_lambda_sees() -> None:
    """SAM publishes one when the text of the function changes, and Lambda refuses one without a difference."""
    texts = dict[str, set[str]]()
    for chosen in [(), *combinations(EXTRAS, 1), EXTRAS]:
        whole = put_together(core(), [document(path) for path in files_of(ROOT, chosen)])
        with reading(whole):
            made = stack("iam")
            shared = resolve(whole["Globals"]["Function"], made)
            variables = {**shared["Environment"]["Variables"], **made.variables("McpFunction")}
            seen = {**shared, **made.properties("McpFunction"), "Variables": variables}
        for unseen in ("Policies", "VersionDescription", "Environment"):
            del seen[unseen]
        text = [whole["Globals"]["Function"], whole["Resources"]["McpFunction"]["Properties"]]
        texts.setdefault(json.dumps(seen, sort_keys=True), set()).add(json.dumps(text, sort_keys=True))

    assert [one for one in texts.values() if len(one) > 1] == []


def test_each_resource_and_each_parameter_is_declared_in_one_place() -> None:
    parts = [core(), *(document(path) for path in sorted(ROOT.glob("extras/*/*.yaml")))]

    for section in ("Parameters", "Resources"):
        declared = Counter(name for part in parts for name, one in part.get(section, {}).items() if "Type" in one)
        assert [name for name, count in declared.items() if count > 1] == []


def test_each_extra_says_in_one_line_what_it_does() -> None:
    for name in EXTRAS:
        said = document(ROOT / "extras" / name / "template.yaml")["Description"]
        assert 10 < len(said) <= 120
        assert said.endswith(".")


def test_the_core_has_no_condition_and_no_parameter_of_an_extra() -> None:
    used = set(conditions([core()["Resources"], core()["Outputs"], core()["Globals"], core()["Conditions"]]))
    named = references([core()[one] for one in ("Resources", "Outputs", "Globals", "Conditions", "Rules")])

    assert set(core()["Conditions"]) - {"HasAlarmTopic"} <= used
    assert set(core()["Parameters"]) <= named
