"""A stack beside the endpoint's registers, changes, breaks and removes a tool, on the emulated AWS."""

import json
from typing import Any, Final

from tests.deployed.emulator import REGION
from tests.deployed.endpoint import Endpoint
from tests.deployed.stack import NAME, aws, compile_what_is_registered, look_at
from tests.waiting import until

PARAMETER: Final = f"/stepwire/{NAME}/tools/fresh"


class Owner:
    """Whoever owns the state machine wait_and_echo; registers it under another name too."""

    def __init__(self, emulated: Endpoint) -> None:
        self._endpoint = emulated
        self._ssm = aws("ssm", emulated.environment)
        self._machine = look_at(f"{NAME}-adopter", emulated.environment).named("WaitAndEcho")

    def register(self, **fields: str) -> None:
        manifest = {"name": "fresh", "state_machine": self._machine, "input_schema": {"type": "object"}, **fields}
        self._ssm.put_parameter(Name=PARAMETER, Value=json.dumps(manifest), Type="String", Overwrite=True)
        self._compile()

    def remove(self) -> None:
        self._ssm.delete_parameter(Name=PARAMETER)
        self._compile()

    def refusals(self) -> list[dict[str, Any]]:
        table = self._endpoint.looked_at().named("TasksTable")
        key = {"pk": {"S": "catalog"}, "sk": {"S": "refusals"}}
        item = aws("dynamodb", self._endpoint.environment).get_item(TableName=table, Key=key)["Item"]
        return json.loads(item["refused"]["S"])["refused"]

    def _compile(self) -> None:
        compile_what_is_registered(self._endpoint.looked_at(), self._endpoint.environment)


def described(endpoint: Endpoint) -> dict[str, str]:
    """Return the descriptions of all tools by their names."""
    seen = endpoint.legacy()("call_without_tasks")
    assert seen["result"]["structuredContent"]["message"] == "plain", "another tool answers all the time"
    return {tool["name"]: tool["description"] for tool in seen["tools"]}


def test_a_tool_is_registered_changed_broken_and_removed_while_clients_call(emulated: Endpoint) -> None:
    owner = Owner(emulated)

    owner.register(description="New.")
    until(lambda: described(emulated).get("fresh") == "New.")
    owner.register(description="Changed.")
    until(lambda: described(emulated)["fresh"] == "Changed.")
    owner.register(descriptoin="Broken.")
    broken = owner.refusals()
    kept = described(emulated)["fresh"]
    owner.remove()
    until(lambda: "fresh" not in described(emulated))

    assert [(one["tool"], one["source"]) for one in broken] == [("fresh", PARAMETER)]
    assert "did you mean description?" in broken[0]["reason"]
    assert kept == "Changed."
    assert owner.refusals() == []


def test_a_state_machine_without_the_tag_is_refused(emulated: Endpoint) -> None:
    owner, states = Owner(emulated), aws("stepfunctions", emulated.environment)
    tagged = look_at(f"{NAME}-adopter", emulated.environment).named("MeasureTexts")
    same = states.describe_state_machine(stateMachineArn=tagged)
    machine = states.create_state_machine(name="untagged", definition=same["definition"], roleArn=same["roleArn"])[
        "stateMachineArn"
    ]
    try:
        owner.register(description="New.", state_machine=machine)
        reasons = {one["tool"]: one["reason"] for one in owner.refusals()}
    finally:
        states.delete_state_machine(stateMachineArn=machine)
        owner.remove()

    assert f"with the tag stepwire:endpoint={NAME}" in reasons["fresh"]
    assert REGION in machine
