"""The browser of an approver is the same at the REST API's door and the HTTP API's."""

import pytest

from stepwire.extras.approvals.page.handler import request_in
from stepwire.extras.door.rest_events import http_event_of
from tests.extras.door.rest_events import rest_event_of
from tests.recorded import recorded


@pytest.mark.parametrize("name", ["http_get_approval", "http_post_approval"])
def test_a_browser_of_an_approver_is_the_same_at_either_door(name: str) -> None:
    event = recorded(f"extras/approvals/{name}") | {"cookies": ["a=1", "__Host-b=2"]}

    assert request_in(http_event_of(rest_event_of(event))) == request_in(event)
