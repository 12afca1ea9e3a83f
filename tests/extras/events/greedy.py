"""For tests/server/test_greedy_callers.py: the places of requests that wait for the proof of an endpoint."""

from typing import Final

from stepwire.engine.limiter import WAITS
from stepwire.extras.events.ports import Answer
from stepwire.extras.events.subscribing import proof_places
from stepwire.principal import Principal
from tests.extras.events.built import fakes_of
from tests.extras.events.fakes import Post, echo
from tests.extras.events.test_webhooks import wish
from tests.kits import ALICE
from tests.server.clients import ModernClient
from tests.server.greedy import FAST, Kind, Site, retry_of

PROOF: Final = 3.0  # seconds


def prove_an_endpoint(site: Site, owner: Principal) -> float | None:
    """Subscribe with an endpoint; return when to try again, or None if it could prove itself.

    The endpoint of ALICE does so at once, and is a new one each time; all others take their time, and do not.
    """
    answers = fakes_of(site.world).endpoints.answers
    url = f"https://hooks.example/{len(answers) if owner == ALICE else owner}"

    def answer(post: Post) -> Answer:
        site.time.sleep(FAST if owner == ALICE else PROOF)
        return echo(post) if owner == ALICE else Answer(200, b"{}")

    answers[url] = answer
    return retry_of(ModernClient(site.world, owner=owner).ask("events/subscribe", wish(url=url)))


KINDS: Final = {"proofs of endpoints": Kind(prove_an_endpoint, proof_places(WAITS), PROOF)}
