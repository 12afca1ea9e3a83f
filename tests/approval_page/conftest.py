"""One endpoint for each kind of links, which the tests of a file share: a stack starts slowly, a question does not.

No longer than a file: the stacks of a process share an account, which is emptied when the last one closes.
"""

from collections.abc import Iterator

import pytest

from tests.approval_page.desk import Desk, desk_with


@pytest.fixture(scope="module")
def by_link() -> Iterator[Desk]:
    with desk_with("link") as desk:
        yield desk


@pytest.fixture(scope="module")
def by_sign_in() -> Iterator[Desk]:
    with desk_with("sign-in") as desk:
        yield desk
