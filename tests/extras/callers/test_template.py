"""What the template permits about the list of blocked callers, and by which aliases operators change it."""

import pytest

from stepwire.extras.callers.commands import BLOCKS, ERASURES
from stepwire.extras.callers.storage import PARTITION
from tests.template.document import resource, statements


@pytest.mark.parametrize("sid", ["TheListOfBlockedCallers", "KnowWhoIsBlocked"])
def test_a_function_that_reaches_the_list_reaches_no_other_item_by_it(sid: str) -> None:
    found = [one for one in statements() if one.name.endswith(f".{sid}")]

    assert found
    for one in found:
        assert one.body["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [PARTITION]}}


@pytest.mark.parametrize(("alias", "right"), [("OperatorOfBlocks", BLOCKS), ("OperatorOfErasures", ERASURES)])
def test_each_right_is_an_alias_of_its_own(alias: str, right: str) -> None:
    assert resource(alias).properties["Name"] == right
