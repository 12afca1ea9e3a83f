"""A REST API serves the sign-in metadata as an HTTP API does."""

from packages.local.tests.issuer import TestIssuer
from tests.recorded import recorded
from tests.unit.test_metadata import SERVER, Ask, mirrored, of_the_server


def test_a_rest_api_is_answered_as_an_http_api_is(ask: Ask, pool: TestIssuer) -> None:
    of_rest_api = recorded("extras/door/rest_get_metadata")
    server = of_rest_api | {"resource": SERVER.removeprefix("GET ")}

    assert ask(of_rest_api, **mirrored(pool)) == ask(**mirrored(pool))
    assert ask(server, **mirrored(pool)) == ask(of_the_server(), **mirrored(pool))
