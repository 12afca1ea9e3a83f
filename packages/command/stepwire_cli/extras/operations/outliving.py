"""The archive of the audit outlives the stack, whatever the command line of `stepwire destroy` says."""

from collections.abc import Mapping
from typing import Final

from stepwire_cli.deployment.removing import Lock, Survivor
from stepwire_cli.deployment.stack import Stack

WHO_DELETES_EARLIER: Final[Mapping[str, str]] = {
    "COMPLIANCE": "nobody",
    "GOVERNANCE": "only who has s3:BypassGovernanceRetention",
}
"""By the mode of Object Lock (`AuditArchive`): who can delete a line of the audit before its time."""


def _note(stack: Stack, bucket: str) -> str:
    """Say until when Object Lock keeps the lines of the audit, and what the owner can do about the bucket."""
    mode, days = stack.parameters["AuditArchive"], stack.parameters["AuditRetentionDays"]
    return (
        f"Object Lock ({mode}): {WHO_DELETES_EARLIER[mode]} can delete a line before its {days} days are over. S3 "
        f"removes each line then. Delete the bucket when it is empty: aws s3api delete-bucket --bucket {bucket}"
    )


SURVIVORS: Final = {"AuditBucket": Survivor("AWS::S3::Bucket", "the lines of the audit", Lock("Object Lock", _note))}
