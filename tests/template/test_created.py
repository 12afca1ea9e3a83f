"""What `stepwire deploy --dry-run` says a stack has is what this template has with the parameters that are chosen."""

import copy
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec
import pytest

from release.template import core_template, created_by, parts_of
from stepwire.json_text import JsonObject
from stepwire_cli.deployment import plan
from stepwire_cli.deployment.parts import extras_of, stack_of
from stepwire_cli.deployment.release import Cost, Created, Extra, Release
from stepwire_local.account.isolation import isolated
from stepwire_local.cloudformation.template import load
from tests.template.chosen import CHOICES, GIVEN, ON
from tests.template.chosen import stack as chosen
from tests.template.document import ROOT, template

_MANY: Final = {
    "Alarms": "all",
    **ON,
    "AllowedOrigins": "https://a.example,https://b.example",
    "EventBus": "arn:aws:events:eu-central-1:123456789012:event-bus/ours",
    "MetricsDashboard": "tools",
    "StateMachineArns": "arn:aws:states:eu-central-1:123456789012:stateMachine:a",
}


_DIGEST: Final = re.compile(r"(?<=Version|loyment)[0-9a-f]{10}$")
"""How names end of what is made anew with each change."""


@cache
def release() -> Release:
    """This template as a release lists it, with what SAM makes of it."""
    with isolated():
        body = load(ROOT / "stack.yaml", {}).body
    creates = tuple(Created(name, one["Type"], one.get("Condition", "")) for name, one in body["Resources"].items())
    return Release("1.0.0", json.dumps(body), {}, Cost(0), "1.0.0", creates=creates)


@cache
def with_parts() -> Release:
    """The core and the parts as a release has them, with what SAM makes of the whole."""
    names = extras_of(ROOT)
    code = dict.fromkeys(template()["Resources"], "code.zip")
    core, parts = core_template(ROOT, code, "1.0.0"), parts_of(ROOT, code)
    return Release(
        "1.0.0",
        core,
        {},
        Cost(0),
        "1.0.0",
        creates=msgspec.convert(translated(stack_of(ROOT, names)), tuple[Created, ...]),
        parts={path.removeprefix("extras/"): text for path, text in parts.items()},
        extras=dict.fromkeys(names, Extra("x", Cost(0))),
        chosen=names,
    )


def translated(template: JsonObject) -> list[dict[str, str]]:
    """Return what CloudFormation makes of a template of our sources, which is changed."""
    for name, body in template["Resources"].items():
        for property_ in {"CodeUri", "ContentUri"} & body.get("Properties", {}).keys():
            body["Properties"][property_] = {"Bucket": "b", "Key": name}
    return created_by(template)


@pytest.mark.parametrize("more", [{}, _MANY], ids=["defaults", "many"])
@pytest.mark.parametrize("authorizer", CHOICES)
def test_the_plan_has_what_the_template_has(authorizer: str, more: Mapping[str, str]) -> None:
    given = {"Authorizer": authorizer, **GIVEN[authorizer], **more}
    stack = chosen(authorizer, **more)

    planned = {one.name for one in plan.created_by(release(), given)}

    expected = {one.name for one in release().creates if not one.condition or stack.condition(one.condition)}
    assert planned == expected
    assert 50 < len(planned) < len(release().creates)


SETS: Final = [*([one] for one in extras_of(ROOT)), list(extras_of(ROOT)), []]
"""Each extra alone, all, and none."""


@pytest.mark.parametrize("extras", SETS, ids=lambda extras: ",".join(extras) or "none")
def test_the_plan_of_a_choice_has_what_its_template_has_and_under_the_same_conditions(extras: list[str]) -> None:
    """A release lists what SAM makes of the whole, and not of each choice."""
    made = with_parts().with_extras(extras)
    resources = made.document["Resources"]

    found = {
        _DIGEST.sub("", one.name): resources[one.of].get("Condition", "") if one.of else one.condition
        for one in made.creates
        if not one.of or one.of in resources
    }

    expected = translated(stack_of(ROOT, extras))
    assert found == {_DIGEST.sub("", one["name"]): one.get("condition", "") for one in expected}


@pytest.mark.parametrize("extras", SETS, ids=lambda extras: ",".join(extras) or "none")
def test_each_extra_says_its_name_in_the_stack(extras: list[str]) -> None:
    (_, names) = with_parts().with_extras(extras).document["Outputs"]["Extras"]["Value"]["Fn::Join"]

    assert names == ["core", *extras]


def test_the_release_put_together_is_what_the_sources_put_together_are() -> None:
    """But for where the code is, how it is built, and what a release adds."""
    made, sources = (copy.deepcopy(one) for one in (with_parts().document, template()))
    for one in (made, sources):
        for body in one["Resources"].values():
            body.pop("Metadata", None)
            for code in {"CodeUri", "ContentUri"} & body.get("Properties", {}).keys():
                del body["Properties"][code]

    for section in ("Conditions", "Globals", "Mappings", "Resources", "Rules"):
        assert made.get(section) == sources.get(section)  # without extras, there are no mappings
    assert made["Parameters"].keys() - sources["Parameters"].keys() == {"ArtifactBucket", "ArtifactPrefix"}
    assert made["Outputs"].keys() - sources["Outputs"].keys() == {"Version"}
