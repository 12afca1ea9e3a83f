"""Tag, parameter and workflow of each tool belong together; with the endpoint's template, each tool answers a call.

STEPWIRE_TEMPLATE names that template, of a project that `stepwire new endpoint` makes.
"""

import json
import os
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1]
TEMPLATE = FOLDER / "template.yaml"
STANDARD_TIER = 4096  # bytes

# The call of the last test: arguments, and members of the result. A tool whose manifest's input_schema or workflow you
# have changed gets a line of its own: CALLS = {"settle_invoices": ({"customer": "C-1"}, {"settled": 3})}
AS_MADE = ({"customer": "C-1"}, {"customer": "C-1", "settled": 3})
CALLS = {}
LONGEST = 300  # seconds that the workflow may take on the local stack


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms: !Ref x, !Sub x."""


def _short_form(loader: yaml.SafeLoader, name: str, node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    construct = loader.construct_sequence if isinstance(node, yaml.SequenceNode) else loader.construct_mapping
    return {name: construct(node, deep=True)}


_Loader.add_multi_constructor("!", _short_form)
RESOURCES = yaml.load(TEMPLATE.read_text(encoding="utf-8"), _Loader)["Resources"]
PARAMETERS = {name: one["Properties"] for name, one in RESOURCES.items() if one["Type"] == "AWS::SSM::Parameter"}
TOOLS = {name: one for name, one in PARAMETERS.items() if "/tools/" in str(one.get("Name"))}
each_tool = pytest.mark.parametrize("parameter", TOOLS.values(), ids=TOOLS)


def manifest_of(parameter):
    return yaml.safe_load(parameter["Value"]["Sub"])


def machine_of(parameter):
    return RESOURCES[manifest_of(parameter)["state_machine"].strip("${}")]["Properties"]


@each_tool
def test_the_parameter_has_the_name_of_the_tool(parameter):
    assert parameter["Name"] == {"Sub": f"/stepwire/${{Endpoint}}/tools/{manifest_of(parameter)['name']}"}
    assert parameter["Type"] == "String"


@each_tool
def test_the_manifest_is_of_this_stack_s_state_machine_whose_owner_consents(parameter):
    assert machine_of(parameter)["Tags"]["stepwire:endpoint"] == {"Ref": "Endpoint"}


@each_tool
def test_the_manifest_fits_a_parameter_that_costs_nothing(parameter):
    assert len(parameter["Value"]["Sub"].encode()) < STANDARD_TIER


@each_tool
def test_every_state_that_is_named_is_there(parameter):
    definition = yaml.safe_load((FOLDER / machine_of(parameter)["DefinitionUri"]).read_text(encoding="utf-8"))
    states = definition["States"]
    named = {definition["StartAt"], *(state["Next"] for state in states.values() if "Next" in state)}

    assert named <= set(states)


@each_tool
def test_the_tool_answers_a_call_on_a_local_stack(parameter):
    local = pytest.importorskip("stepwire_local", reason="install stepwire-local")
    endpoint = Path(os.environ.get("STEPWIRE_TEMPLATE", "none"))
    if not endpoint.is_file():
        pytest.skip("no template of the endpoint: name it in STEPWIRE_TEMPLATE")

    name = manifest_of(parameter)["name"]
    arguments, expected = CALLS.get(name, AS_MADE)
    with local.LocalStack(endpoint, others=[TEMPLATE]) as stack:
        task = post(stack.url, "tools/call", name=name, arguments=arguments, task={})["task"]
        end = time.monotonic() + LONGEST
        while task["status"] == "working" and time.monotonic() < end:
            time.sleep(task["pollInterval"] / 1000)  # the server refuses polls that come faster
            task = post(stack.url, "tasks/get", taskId=task["taskId"])
        assert task["status"] == "completed", task.get("statusMessage", f"still running after {LONGEST} s")
        result = post(stack.url, "tasks/result", taskId=task["taskId"])

    assert expected.items() <= result["structuredContent"].items()


def post(url, method, **params):
    """Send a request of MCP 2025-11-25, and return its result; an error of the server fails the test in its words."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    assert "result" in answer, f"{method}: {answer['error']['message']}"
    return answer["result"]
