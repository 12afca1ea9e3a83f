"""Each command of the AWS CLI in the documents has the names, options, values and answers of AWS's models."""

from typing import Final

import pytest

from tests.docs.aws_commands import Command, commands_of, fault_of
from tests.docs.pages import PAGES, ROOT, Page, page

COMMANDS: Final = [one for path in PAGES for one in commands_of(page(path)) if one.is_of_the_models]
TOO_NEW: Final = {("cognito-idp", "create-cimd-policy")}
"""Commands that the pinned botocore does not know: remove them here when it does."""


def is_too_new(command: Command) -> bool:
    """Tell whether a command is newer than the pinned botocore."""
    return (command.service, command.operation) in TOO_NEW


def command(text: str) -> Command:
    """Return a command as a page would show it."""
    (found,) = commands_of(Page(ROOT / "a.md", f"Type:\n\n    {text}\n"))
    return found


def test_each_command_is_one_of_aws() -> None:
    faults = {str(one): fault for one in COMMANDS if not is_too_new(one) and (fault := fault_of(one))}

    assert faults == {}
    assert len(COMMANDS) > 60


def test_each_exception_is_still_shown_and_still_unknown() -> None:
    new = [one for one in COMMANDS if is_too_new(one)]

    assert len(new) == len(TOO_NEW)
    assert all(map(fault_of, new))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("aws ssm get-parameter --name a --query Parameter.Value", None),
        ('X=$(aws ssm get-parameter --name "$(id "$1")" --query \'Parameter.Value\') | cat', None),
        ("aws dynamodb update-table --table-name a --no-deletion-protection-enabled", None),
        ("aws dynamo list-tables", "there is no service dynamo"),
        ("aws ssm get-parameters-in-path", "ssm has no get-parameters-in-path"),
        ("aws ssm get-parameter --parameter a", "there is no option ['parameter']"),
        ("aws ssm put-parameter --name a --type Text --value b", "Text is none of"),
        ("aws ssm get-parameter", "it lacks ['name']"),
        ("aws ssm get-parameter --name a --query Parameter.Text", "Parameter has no Text"),
        ("aws stepfunctions list-executions --query 'executions.name'", "has no name"),
        ("aws cloudformation wait stack-done --stack-name a", "nothing waits for stack-done"),
        ('aws dynamodb get-item --table-name a --key \'{"pk": {"T": "x"}}\'', "Unknown parameter"),
    ],
)
def test_what_aws_would_refuse_is_found(text: str, fault: str | None) -> None:
    found = fault_of(command(text))

    assert found is None if fault is None else fault in (found or "")
