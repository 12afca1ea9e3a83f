"""The probe calls from outside, and with no certificate of a client."""

import pytest

from tests.extras.door.test_template import MUTUAL, PRIVATE, REST
from tests.extras.operations.template import TEMPLATE
from tests.template.chosen import stack


@pytest.mark.parametrize(
    ("given", "words"),
    [(PRIVATE, "the probe reaches no private endpoint"), ({**REST, **MUTUAL}, "the probe has no certificate")],
)
def test_an_endpoint_that_the_probe_cannot_reach_is_refused(given: dict[str, str], words: str) -> None:
    assert stack("jwt", **given)

    with pytest.raises(AssertionError, match=words):
        stack("jwt", **given, **TEMPLATE.on)
