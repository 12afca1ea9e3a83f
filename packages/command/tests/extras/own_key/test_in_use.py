"""What `stepwire upgrade --with` says of a key, before the functions may not use it."""

import pytest

from packages.command.tests.table import TableOfAnEndpoint

KEY = "arn:aws:kms:eu-central-1:111122223333:key/1"


@pytest.mark.parametrize(("key", "seen"), [("", {}), (KEY, {"what is encrypted with your key": KEY})])
def test_a_key_is_in_use_where_one_is_named(key: str, seen: dict[str, str], table: TableOfAnEndpoint) -> None:
    assert table.seen("own_key", parameters={"KmsKeyArn": key}) == seen
