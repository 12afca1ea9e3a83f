"""For the tests of sample events: function probe gets a schedule's event, of which it reads nothing."""

from typing import Final

from tests.integration.samples import OfExtra

SAMPLES: Final = OfExtra({}, by_name=frozenset({"ProbeFunction"}))
