"""One endpoint for each kind of links, which the tests share: a stack starts slowly, a question does not."""

from collections.abc import Iterator

import pytest

from tests.approval_page.desk import Desk, desk_with


@pytest.fixture(scope="session")
def by_link() -> Iterator[Desk]:
    with desk_with("link") as desk:
        yield desk


@pytest.fixture(scope="session")
def by_sign_in() -> Iterator[Desk]:
    with desk_with("sign-in") as desk:
        yield desk
