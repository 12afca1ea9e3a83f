"""docs/restoring.md can be typed: each name has a value, and its templates fit the endpoint's.

tests/docs/test_aws_commands.py holds its commands against AWS's models.
"""

import json
import re
from typing import Any, Final

from stepwire_local.cloudformation.template import read
from tests.docs.aws_commands import commands_of
from tests.docs.pages import ROOT, page
from tests.template.document import template

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
AWS: Final = {one.operation: one.options for one in commands_of(PAGE)}


def test_every_name_in_a_command_has_a_value_on_the_page() -> None:
    text = "\n".join(PAGE.commands)

    used = set(re.findall(r"\$\{?([A-Z]+)", text)) - {"PWD"}

    assert used - set(re.findall(r"(?:^|\s)([A-Z]+)=", text)) == set()


def test_the_imported_table_is_that_of_the_endpoint_without_what_an_import_does_not_set() -> None:
    ours: dict[str, Any] = template()["Resources"]["TasksTable"]
    imported = read(ASSETS / "imported_table.yaml")["Resources"]["TasksTable"]
    typed = json.loads(AWS["import-table"]["table-creation-parameters"])

    assert imported == {
        **ours,
        "Properties": {name: value for name, value in ours["Properties"].items() if name not in NOT_OF_AN_IMPORT},
    }
    assert {name: value for name, value in typed.items() if name != "TableName"} == imported["Properties"]


def test_what_an_import_does_not_set_is_looked_for_and_can_be_set() -> None:
    ours = template()["Resources"]["TasksTable"]["Properties"]

    view = ours["StreamSpecification"]["StreamViewType"]
    assert AWS["update-table"]["stream-specification"] == f"StreamEnabled=true,StreamViewType={view}"
    attribute = ours["TimeToLiveSpecification"]["AttributeName"]
    assert AWS["update-time-to-live"]["time-to-live-specification"] == f"Enabled=true,AttributeName={attribute}"
    assert AWS["update-continuous-backups"].keys() >= {"point-in-time-recovery-specification"}
    assert AWS.keys() >= {"describe-table", "describe-time-to-live", "describe-continuous-backups"}


def test_the_replica_keeps_results_as_long_as_the_endpoint() -> None:
    replica = read(ASSETS / "copies_elsewhere.yaml")["Resources"]["Results"]["Properties"]
    ours = template()["Resources"]["LargeResults"]["Properties"]

    assert replica["LifecycleConfiguration"] == ours["LifecycleConfiguration"]
