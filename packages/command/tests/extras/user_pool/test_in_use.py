"""What `stepwire upgrade --with` says of the users of a pool, before they cannot sign in."""

import pytest

from packages.command.tests.table import TableOfAnEndpoint


@pytest.mark.parametrize(
    ("authorizer", "seen"), [("jwt", {}), ("cognito", {"the users who sign in": "Authorizer=cognito"})]
)
def test_a_pool_is_in_use_where_callers_sign_in_with_it(
    authorizer: str, seen: dict[str, str], table: TableOfAnEndpoint
) -> None:
    assert table.seen("user_pool", parameters={"Authorizer": authorizer}) == seen
