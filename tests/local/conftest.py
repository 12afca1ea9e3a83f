"""The stack of the tests, served."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local import LocalStack

TEMPLATE = Path(__file__).parent / "stack" / "template.yaml"


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(TEMPLATE) as served:
        yield served
