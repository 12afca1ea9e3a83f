"""`stepwire destroy` leaves the archive of the audit in any case, and says what its owner can do."""

import json
from dataclasses import replace

import pytest

from packages.command.tests.fake_cloudformation import FakeAccount
from packages.command.tests.test_deploying import REMOVAL, calls_of
from stepwire_cli.deployment.removing import destroy
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen


@pytest.mark.parametrize("with_data", [False, True])
@pytest.mark.parametrize(
    ("mode", "who"), [("COMPLIANCE", "nobody"), ("GOVERNANCE", "only who has s3:BypassGovernanceRetention")]
)
def test_the_archive_of_the_audit_is_left_in_any_case_with_what_its_owner_can_do(
    mode: str, who: str, with_data: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    account = FakeAccount()
    account.standing(
        parameters={"AuditArchive": mode, "AuditRetentionDays": "90"},
        kept={"TasksTable": ("AWS::DynamoDB::Table", "tasks"), "AuditBucket": ("AWS::S3::Bucket", "audit")},
    )
    removal = replace(REMOVAL, with_data=with_data)
    line = (
        f"left: audit (the lines of the audit). Object Lock ({mode}): {who} can delete a line before its 90 days are "
        "over. S3 removes each line then. Delete the bucket when it is empty: aws s3api delete-bucket --bucket audit\n"
    )

    code = destroy(removal, calls_of(account), Screen(as_json=False))
    said = capsys.readouterr()
    again = destroy(removal, calls_of(account), Screen(as_json=True))
    (left,) = [one for one in json.loads(capsys.readouterr().out)["left"] if one["id"] == "audit"]

    assert (code, again) == (Exit.DONE, Exit.DONE)
    assert "audit, with the lines of the audit, is left, because Object Lock keeps it." in said.err
    assert said.out.endswith(line)
    assert f"Object Lock ({mode})" in left["note"]
    assert set(account.deleted) == ({"tasks"} if with_data else set())
