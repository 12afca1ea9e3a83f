"""docs/restoring.md can be typed: its commands are those of AWS's models, and its templates fit the endpoint's."""

import json
import re
import shlex
from typing import Any, Final

import botocore.session
import pytest
from botocore import xform_name
from botocore.exceptions import UnknownServiceError
from botocore.validate import ParamValidator

from tests.docs.pages import ROOT, page
from tests.template.document import read, template

PAGE: Final = page(ROOT / "docs" / "restoring.md")
ASSETS: Final = ROOT / "docs" / "assets"
NOT_OF_AN_IMPORT: Final = {
    "TimeToLiveSpecification",
    "StreamSpecification",
    "PointInTimeRecoverySpecification",
    "SSESpecification",
    "DeletionProtectionEnabled",
}
"""Properties that `import-table` does not set."""
OF_THE_CLI: Final = {"region", "query", "output"}
AWS: Final = [
    words
    for command in PAGE.commands
    for text in re.findall(r"\baws ((?:[^|;]|\|\|)+)", command.replace("\\\n", " "))
    if (words := shlex.split(text.rstrip().removesuffix(")"), comments=True))
]


def test_every_name_in_a_command_has_a_value_on_the_page() -> None:
    text = "\n".join(PAGE.commands)

    used = set(re.findall(r"\$\{?([A-Z]+)", text)) - {"PWD"}

    assert used - set(re.findall(r"(?:^|\s)([A-Z]+)=", text)) == set()


def given(words: list[str]) -> dict[str, str]:
    """Return the options of a command with their values."""
    return {
        word[2:]: following
        for word, following in zip(words, [*words[1:], ""], strict=True)
        if word.startswith("--") and word[2:] not in OF_THE_CLI
    }


@pytest.mark.parametrize("words", [one for one in AWS if one[0] != "s3" and one[1] != "deploy"], ids=" ".join)
def test_a_command_has_the_names_and_shapes_of_aws(words: list[str]) -> None:
    service, operation, *rest = words
    session: Any = botocore.session.get_session()
    if operation == "wait":
        names = {xform_name(name, "-") for name in session.get_waiter_model(service).waiter_names}
        assert rest[0] in names
        return
    model = session.get_service_model(service.removesuffix("api"))  # the CLI has the API of S3 under a name of its own
    (name,) = (one for one in model.operation_names if xform_name(one, "-") == operation)
    shape = model.operation_model(name).input_shape
    members = {xform_name(member, "-"): one for member, one in shape.members.items()}
    required = {xform_name(member, "-") for member in shape.required_members}

    options = given(rest)

    assert options.keys() <= members.keys()
    assert required <= options.keys()
    for option, text in options.items():
        if text.startswith(("{", "[")):
            assert not ParamValidator().validate(json.loads(text), members[option]).has_errors(), option


def test_an_unknown_service_would_be_found() -> None:
    with pytest.raises(UnknownServiceError):
        test_a_command_has_the_names_and_shapes_of_aws(["dynamo", "import-table"])


def test_the_imported_table_is_that_of_the_endpoint_without_what_an_import_does_not_set() -> None:
    ours: dict[str, Any] = template()["Resources"]["TasksTable"]
    imported = read(ASSETS / "imported_table.yaml")["Resources"]["TasksTable"]
    (words,) = [one for one in AWS if one[1] == "import-table"]
    typed = json.loads(given(words)["table-creation-parameters"])

    assert imported == {
        **ours,
        "Properties": {name: value for name, value in ours["Properties"].items() if name not in NOT_OF_AN_IMPORT},
    }
    assert {name: value for name, value in typed.items() if name != "TableName"} == imported["Properties"]


def test_what_an_import_does_not_set_is_looked_for_and_can_be_set() -> None:
    words = {one[1]: given(one) for one in AWS}
    ours = template()["Resources"]["TasksTable"]["Properties"]

    view = ours["StreamSpecification"]["StreamViewType"]
    assert words["update-table"]["stream-specification"] == f"StreamEnabled=true,StreamViewType={view}"
    attribute = ours["TimeToLiveSpecification"]["AttributeName"]
    assert words["update-time-to-live"]["time-to-live-specification"] == f"Enabled=true,AttributeName={attribute}"
    assert words["update-continuous-backups"].keys() >= {"point-in-time-recovery-specification"}
    assert words.keys() >= {"describe-table", "describe-time-to-live", "describe-continuous-backups"}


def test_the_replica_keeps_results_as_long_as_the_endpoint() -> None:
    replica = read(ASSETS / "copies_elsewhere.yaml")["Resources"]["Results"]["Properties"]
    ours = template()["Resources"]["LargeResults"]["Properties"]

    assert replica["LifecycleConfiguration"] == ours["LifecycleConfiguration"]


def test_the_days_of_the_copies_are_those_that_the_page_about_a_caller_names() -> None:
    days = read(ASSETS / "copies_elsewhere.yaml")["Parameters"]["KeepDays"]["Default"]
    row = next(line for line in (ROOT / "docs" / "one_caller.md").read_text().splitlines() if "`KeepDays`" in line)

    assert f"{days} days" in row
