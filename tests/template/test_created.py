"""What `stepwire deploy --dry-run` says a stack has is what this template has with the parameters that are chosen."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from stepwire_cli.deployment.plan import created_by
from stepwire_cli.deployment.release import Cost, Created, Release
from stepwire_local.account.isolation import isolated
from stepwire_local.cloudformation.template import load
from tests.template.chosen import CHOICES, GIVEN, ON
from tests.template.chosen import stack as chosen
from tests.template.document import ROOT

_MANY: Final = {
    "Alarms": "all",
    **ON,
    "AllowedOrigins": "https://a.example,https://b.example",
    "EventBus": "arn:aws:events:eu-central-1:123456789012:event-bus/ours",
    "MetricsDashboard": "tools",
    "StateMachineArns": "arn:aws:states:eu-central-1:123456789012:stateMachine:a",
}


@cache
def release() -> Release:
    """This template as a release lists it, with what SAM makes of it."""
    with isolated():
        body = load(ROOT / "stack.yaml", {}).body
    creates = tuple(Created(name, one["Type"], one.get("Condition", "")) for name, one in body["Resources"].items())
    return Release("1.0.0", json.dumps(body), {}, Cost(0), "1.0.0", creates=creates)


@pytest.mark.parametrize("more", [{}, _MANY], ids=["defaults", "many"])
@pytest.mark.parametrize("authorizer", CHOICES)
def test_the_plan_has_what_the_template_has(authorizer: str, more: Mapping[str, str]) -> None:
    given = {"Authorizer": authorizer, **GIVEN[authorizer], **more}
    stack = chosen(authorizer, **more)

    planned = {one.name for one in created_by(release(), given)}

    expected = {one.name for one in release().creates if not one.condition or stack.condition(one.condition)}
    assert planned == expected
    assert 50 < len(planned) < len(release().creates)
