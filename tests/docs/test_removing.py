"""docs/removing.md and `stepwire destroy` name everything that outlives the endpoint's stack."""

import re
from typing import Final

from stepwire_cli.deployment.removing import survivors
from tests.docs.pages import ROOT, page
from tests.template.document import resources, template

PAGE: Final = page(ROOT / "docs" / "removing.md")


def retained() -> dict[str, str]:
    """Return the type of each resource that outlives the stack, by its name in the template."""
    resources = template()["Resources"].items()
    return {name: one["Type"] for name, one in resources if one.get("DeletionPolicy", "Delete") != "Delete"}


def test_each_resource_that_outlives_the_stack_is_named_in_the_table_and_in_the_command_that_lists_them() -> None:
    (listing,) = [command for command in PAGE.commands if "list-stack-resources" in command]
    in_the_table = re.findall(r"^\| `(\w+)`", PAGE.text, re.MULTILINE)

    assert set(in_the_table) == set(retained())
    listed = re.findall(r"'([\w:]+)'", listing)
    assert {one.logical_id for one in resources() if one.kind in listed} == set(retained())


def test_the_command_knows_what_outlives_the_stack() -> None:
    assert {name: one.kind for name, one in survivors().items()} == retained()


def test_what_is_protected_against_deletion_is_unprotected_first() -> None:
    words = [" ".join(command.split()[1:3]) for command in PAGE.commands]

    assert words.index("dynamodb update-table") < words.index("dynamodb delete-table")
    assert words.index("cognito-idp update-user-pool") < words.index("cognito-idp delete-user-pool")
