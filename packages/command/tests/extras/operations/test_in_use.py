"""What `stepwire upgrade --with` says of the archive of the audit, before it ends."""

import pytest

from packages.command.tests.table import TableOfAnEndpoint


@pytest.mark.parametrize(
    ("mode", "seen"), [("off", {}), ("COMPLIANCE", {"the archive of the audit": "AuditArchive=COMPLIANCE"})]
)
def test_an_archive_is_in_use_where_there_is_one(mode: str, seen: dict[str, str], table: TableOfAnEndpoint) -> None:
    assert table.seen("operations", parameters={"AuditArchive": mode}) == seen
