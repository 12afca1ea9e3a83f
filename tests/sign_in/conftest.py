"""Endpoints with issuers of each shape; one stack a shape, shared by the tests of a file."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from typing import Any

import anyio
import pytest

from tests.clients.programs import LEGACY_PYTHON, in_node, in_python
from tests.sign_in.mcp_2 import seen_by_mcp_2
from tests.sign_in.site import CALLBACK, DOCUMENT, GIVEN_ID, ROOT, Site, site_of

Json = dict[str, Any]
Sites = Callable[..., Site]
Seen = Callable[..., Json]


@pytest.fixture(scope="module")
def sites() -> Generator[Sites]:
    """Return the endpoint for a shape and parameters; it is started when it is first needed."""
    with ExitStack() as running:
        made: dict[tuple[Any, ...], Site] = {}

        def site(shape: str, **parameters: str) -> Site:
            key = (shape, *sorted(parameters.items()))
            if key not in made:
                made[key] = running.enter_context(site_of(shape, **parameters))
            made[key].issuer.asked.clear()
            made[key].issuer.grants.lifetimes.clear()
            return made[key]

        yield site


def plan(way: str = "id", **more: Any) -> Json:
    """Return the plan of a client that becomes a client of the issuer in this way."""
    return {
        "way": way,
        "callback": CALLBACK,
        "client_id": GIVEN_ID,
        "document": DOCUMENT,
        "calls": ["ping"],
        **more,
    }


def _mcp_2(url: str, plan: Json) -> Json:
    return anyio.run(seen_by_mcp_2, url, plan)


def _mcp_1(url: str, plan: Json) -> Json:
    return in_python(LEGACY_PYTHON, ROOT / "tests/sign_in/mcp_1.py", url, plan)


def _typescript(library: str, url: str, plan: Json) -> Json:
    return in_node("sign_in.mjs", url, plan={**plan, "library": library})


LIBRARIES: dict[str, Callable[[str, Json], Json]] = {
    "mcp 2.3": _mcp_2,
    "mcp 1.30": _mcp_1,
    "sdk 1.32": partial(_typescript, "sdk"),
    "client 2.4": partial(_typescript, "client"),
}


def among(*libraries: str) -> Any:
    """Run a test with these libraries; all but the first kind in this process take long."""
    return pytest.mark.parametrize(
        "library", [pytest.param(name, marks=() if name == "mcp 2.3" else pytest.mark.long) for name in libraries]
    )


@pytest.fixture
def seen_by() -> Seen:
    """Return what a library sees at a URL with a plan."""

    def seen_by(library: str, site: Site, plan: Json) -> Json:
        return LIBRARIES[library](site.url, plan)

    return seen_by
