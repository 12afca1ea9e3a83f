"""The tag, the parameter and the workflow belong together; with a checkout of Stepwire, the tool answers a call."""

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1]
TEMPLATE = FOLDER / "template.yaml"
STANDARD_TIER = 4096  # bytes

# The call of the last test. Change these two with the manifest's input_schema and the workflow.
ARGUMENTS = {"customer": "C-1"}
EXPECTED = {"customer": "C-1", "settled": 3}  # members of the result
LONGEST = 300  # seconds that the workflow may take on the local stack


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms: !Ref x, !Sub x."""


def _short_form(loader: yaml.SafeLoader, name: str, node: Any) -> Any:
    return {name: loader.construct_scalar(node)}


_Loader.add_multi_constructor("!", _short_form)
RESOURCES = yaml.load(TEMPLATE.read_text(encoding="utf-8"), _Loader)["Resources"]
MACHINE = RESOURCES["Workflow"]["Properties"]
PARAMETER = RESOURCES["Tool"]["Properties"]
MANIFEST = yaml.safe_load(PARAMETER["Value"]["Sub"])


def test_the_parameter_has_the_name_of_the_tool():
    assert PARAMETER["Name"] == {"Sub": f"/stepwire/${{Endpoint}}/tools/{MANIFEST['name']}"}
    assert PARAMETER["Type"] == "String"


def test_the_manifest_is_of_this_stack_s_state_machine_whose_owner_consents():
    assert MANIFEST["state_machine"] == "${Workflow}"
    assert MACHINE["Tags"] == {"stepwire:endpoint": {"Ref": "Endpoint"}}


def test_the_manifest_fits_a_parameter_that_costs_nothing():
    assert len(PARAMETER["Value"]["Sub"].encode()) < STANDARD_TIER


def test_every_state_that_is_named_is_there():
    definition = yaml.safe_load((FOLDER / MACHINE["DefinitionUri"]).read_text(encoding="utf-8"))
    states = definition["States"]
    named = {definition["StartAt"], *(state["Next"] for state in states.values() if "Next" in state)}

    assert named <= set(states)


def test_the_tool_answers_a_call_on_a_local_stack():
    local = pytest.importorskip(
        "stepwire_local", reason="install stepwire-local, or use the Python of a checkout of Stepwire"
    )
    endpoint = Path(local.__file__).parents[3] / "template.yaml"
    if not endpoint.is_file():
        pytest.skip("stepwire-local is installed without a checkout of Stepwire")

    with local.LocalStack(endpoint, others=[TEMPLATE]) as stack:
        task = post(stack.url, "tools/call", name=MANIFEST["name"], arguments=ARGUMENTS, task={})["task"]
        end = time.monotonic() + LONGEST
        while task["status"] == "working" and time.monotonic() < end:
            time.sleep(task["pollInterval"] / 1000)  # the server refuses polls that come faster
            task = post(stack.url, "tasks/get", taskId=task["taskId"])
        assert task["status"] == "completed", task.get("statusMessage", f"still running after {LONGEST} s")
        result = post(stack.url, "tasks/result", taskId=task["taskId"])

    assert EXPECTED.items() <= result["structuredContent"].items()


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
