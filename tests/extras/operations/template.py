"""For the tests of the template: what switches the probe and the archive on. No function of the core knows of them."""

from typing import Final

OFF: Final[dict[str, str]] = {}
ON: Final = {
    "AuditArchive": "GOVERNANCE",
    "ProbeTool": "canary",
    "ProbeSecretArn": f"arn:aws:secretsmanager:eu-central-1:{'1' * 12}:secret:probe-a1b2c3",
}
QUEUES: Final[tuple[str, ...]] = ()
VARIABLES: Final[dict[str, str]] = {}
ACTIONS: Final[tuple[str, ...]] = ()
WITH_TASKS: Final[tuple[str, ...]] = ()
PARTITIONS: Final[dict[str, list[str]]] = {}
WILDCARDS: Final[dict[str, str]] = {}
