"""One endpoint for each kind of links, which the tests of a file share: a stack starts slowly, a question does not.

No longer than a file: the stacks of a process share an account, which is emptied when the last one closes.
"""

from collections.abc import Iterator

import pytest

from tests.extras.approvals.page.desk import Desk, Question, desk_with


@pytest.fixture(scope="module")
def by_link() -> Iterator[Desk]:
    with desk_with("link") as desk:
        yield desk


@pytest.fixture(scope="module")
def by_sign_in() -> Iterator[Desk]:
    with desk_with("sign-in") as desk:
        yield desk


@pytest.fixture(scope="module")
def open_by_link(by_link: Desk) -> Question:
    """A question for the tests that decide nothing: each looks that it is still open."""
    return by_link.ask()


@pytest.fixture(scope="module")
def open_by_sign_in(by_sign_in: Desk) -> Question:
    """Likewise."""
    return by_sign_in.ask()
