"""For the tests of the template: what switches the probe and the archive on. No function of the core knows of them."""

from typing import Final

from tests.template.of_extras import InTemplate

TEMPLATE: Final = InTemplate(
    on={
        "AuditArchive": "GOVERNANCE",
        "ProbeTool": "canary",
        "ProbeSecretArn": f"arn:aws:secretsmanager:eu-central-1:{'1' * 12}:secret:probe-a1b2c3",
    }
)
