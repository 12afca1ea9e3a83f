"""What of operations is in use: the archive of the audit."""

from typing import Final

from stepwire_cli.deployment.in_use import Use

USES: Final = (
    Use(
        "the archive of the audit",
        "no line of the audit is archived. The bucket stays, with its lines and their locks; when the extra is back, "
        "another bucket begins.",
        "Write down its name first, and who may read it: the stack names it no longer.",
        lambda contents: contents.setting("AuditArchive", "off"),
    ),
)
