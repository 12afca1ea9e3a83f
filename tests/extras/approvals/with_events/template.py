"""For the tests of the template: what function status_changes may do for approvers who have events."""

from typing import Final

from tests.template.of_extras import InTemplate

TEMPLATE: Final = InTemplate(partitions={"StatusChangesFunction.FindApproversWhoListen": ["subscribers#*"]})
