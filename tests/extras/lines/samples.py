"""For the tests of sample events: what is told of places in line."""

from typing import Final

from tests.integration.samples import OfExtra

SAMPLES: Final = OfExtra(published=frozenset({"extras/lines/task_place_in_line"}))
