"""Each client that cannot be installed gets the result of a tool that its model searched for."""

import json

from stepwire.extras.search import CALL_TOOL, FIND_TOOL
from tests.clients.replayed.behaviours import Behaviour
from tests.clients.replayed.raw_client import Returned
from tests.clients.replayed.test_raw_clients import each_client, site_at
from tests.kits import ARGUMENTS, OUTPUT


@each_client
def test_a_client_gets_the_result_of_a_tool_that_its_model_searched_for(behaviour: Behaviour) -> None:
    site = site_at(behaviour, "discover=1")
    site.timeline.after(60, site.succeed)

    found = site.client.call(FIND_TOOL, {"query": "few"})
    assert isinstance(found, Returned), found
    name = json.loads(found.result["content"][0]["text"])["tools"][0]["name"]
    outcome = site.client.go_on(site.client.call(CALL_TOOL, {"name": name, "arguments": ARGUMENTS}))

    assert name == "grouped"
    assert isinstance(outcome, Returned), outcome
    assert outcome.result["structuredContent"] == OUTPUT
    assert len(site.world.workflows.starts) == 1
