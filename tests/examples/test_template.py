"""The examples' template keeps the rules that the endpoint's keeps, where they are about any stack."""

import json
from typing import Any, Final

import pytest

from stepwire.manifests.reading import read_manifest
from stepwire_local.cloudformation.template import parse
from stepwire_wrap.examining import findings_of
from tests.adopted import registered
from tests.examples.stacks import EXAMPLES

RESOURCES: Final[dict[str, dict[str, Any]]] = parse(EXAMPLES)["Resources"]
MACHINES: Final = [name for name, one in RESOURCES.items() if one["Type"] == "AWS::Serverless::StateMachine"]
FUNCTIONS: Final = [name for name, one in RESOURCES.items() if one["Type"] == "AWS::Serverless::Function"]
WORKFLOWS: Final = sorted((EXAMPLES.parent / "workflows").iterdir())


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_machine_is_a_standard_one_and_may_be_started_by_the_endpoint_that_is_named(name: str) -> None:
    properties = RESOURCES[name]["Properties"]

    assert properties["Type"] == "STANDARD"
    assert properties["Tags"] == {"stepwire:endpoint": {"Ref": "Endpoint"}}


@pytest.mark.parametrize(("name", "text"), registered(EXAMPLES).items())
def test_every_manifest_is_valid_and_of_its_parameter_s_name(name: str, text: str) -> None:
    assert read_manifest(text).name == name


def test_the_doctor_finds_nothing() -> None:
    assert [str(one) for one in findings_of(EXAMPLES.parent)] == []


def test_every_state_machine_is_a_tool() -> None:
    named = {json.dumps(one) for one in RESOURCES.values() if one["Type"] == "AWS::SSM::Parameter"}

    assert [name for name in MACHINES if not any(f"state_machine: ${{{name}}}" in text for text in named)] == []


@pytest.mark.parametrize("path", [EXAMPLES, *WORKFLOWS], ids=lambda path: path.name)
def test_no_arn_names_a_partition_for_the_stack_may_be_in_another(path: Any) -> None:
    assert "arn:aws:" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_functions_log_is_kept_for_a_time_that_is_set(name: str) -> None:
    group = RESOURCES[name]["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]

    assert RESOURCES[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_what_the_build_makes_has_a_makefile_of_its_name() -> None:
    built = {name: one for name, one in RESOURCES.items() if one.get("Metadata", {}).get("BuildMethod") == "makefile"}

    assert built
    for name, one in built.items():
        makefile = EXAMPLES.parent / one["Properties"]["ContentUri"] / "Makefile"
        assert f"\nbuild-{name}:" in makefile.read_text(encoding="utf-8")
