"""docs/removing.md names everything that outlives the endpoint's stack."""

import re
from typing import Final

from tests.docs.pages import ROOT, page
from tests.template.document import template

PAGE: Final = page(ROOT / "docs" / "removing.md")


def test_each_resource_that_outlives_the_stack_is_named_in_the_table_and_in_the_command_that_lists_them() -> None:
    retained = {
        name for name, one in template()["Resources"].items() if one.get("DeletionPolicy", "Delete") != "Delete"
    }

    (listing,) = [command for command in PAGE.commands if "list-stack-resources" in command]
    in_the_table = re.findall(r"^\| `(\w+)`", PAGE.text, re.MULTILINE)

    assert set(in_the_table) == retained
    assert set(re.findall(r"'(\w+)'", listing)) == retained


def test_what_is_protected_against_deletion_is_unprotected_first() -> None:
    words = [" ".join(command.split()[1:3]) for command in PAGE.commands]

    assert words.index("dynamodb update-table") < words.index("dynamodb delete-table")
    assert words.index("cognito-idp update-user-pool") < words.index("cognito-idp delete-user-pool")
