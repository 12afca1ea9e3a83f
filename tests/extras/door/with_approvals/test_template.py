"""The page for approvers is at the REST API's door where it was at the HTTP API's, and its links are not traced."""

from itertools import product
from typing import Final

import pytest

from tests.extras.door.test_template import PRIVATE, REST, has_only_the_rest_api, leads_to_the_same
from tests.template.chosen import CHOICES, stack

CLIENT: Final = {"ApprovalClientId": "the-page"}
SIGNED_IN: Final = {"ApprovalLinks": "sign-in"}


@pytest.mark.parametrize(("choice", "door"), [*product(CHOICES, [REST, PRIVATE])])
def test_with_a_rest_api_nothing_of_the_http_api_is_there(choice: str, door: dict[str, str]) -> None:
    has_only_the_rest_api(stack(choice, **door, ApprovalLinks="link"))


@pytest.mark.parametrize(
    ("choice", "more"),
    [
        *product(CHOICES, [{"ApprovalLinks": "link"}]),
        *(("jwt", SIGNED_IN | CLIENT), ("cognito", SIGNED_IN)),  # otherwise, nobody can sign in to the page
    ],
)
def test_the_same_paths_lead_to_the_same_functions_with_the_same_sign_in(choice: str, more: dict[str, str]) -> None:
    leads_to_the_same(choice, **more)


@pytest.mark.parametrize("links", ["link", "sign-in"])
def test_x_ray_does_not_begin_at_the_rest_door_where_a_url_may_authorize(links: str) -> None:
    made = stack("jwt", **REST, **CLIENT, Tracing="Active", ApprovalLinks=links)

    assert made.properties("RestApi")["TracingEnabled"] is False
