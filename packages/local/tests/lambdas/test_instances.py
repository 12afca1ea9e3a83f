"""A function may have several instances, which take turns and share no memory."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from stepwire_local import FunctionError, LocalStack
from tests.waiting import HANG_GUARD

HANDLER = """
import os
import beside
import of_a_layer_of_instances as layer

calls = 0

def handler(event, context):
    global calls
    calls += 1
    beside.SEEN.append(calls)
    layer.SEEN.append(calls)
    os.environ["CALLS"] = str(int(os.environ.get("CALLS", "0")) + 1)
    if event.get("fail"):
        raise layer.Refused(__name__)
    seen = {"calls": calls, "beside": len(beside.SEEN), "layer": len(layer.SEEN), "environment": os.environ["CALLS"]}
    return {**seen, "whole": isinstance(layer.refusal(), layer.Refused)}
"""
LAYER = """
SEEN = []

class Refused(Exception):
    pass

def refusal():
    from later_of_a_layer_of_instances import refused

    return refused()
"""
LATER = """
from of_a_layer_of_instances import Refused

def refused():
    return Refused()
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instances")
    files = {
        "f/app.py": HANDLER,
        "f/beside.py": "SEEN = []",
        "layer/python/of_a_layer_of_instances.py": LAYER,
        "layer/python/later_of_a_layer_of_instances.py": LATER,
    }
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    function = {"CodeUri": "f", "Handler": "app.handler", "Runtime": "python3.13", "Layers": [{"Ref": "Layer"}]}
    integration = {
        "ApiId": {"Ref": "Api"},
        "IntegrationType": "AWS_PROXY",
        "IntegrationUri": {"Fn::GetAtt": ["F", "Arn"]},
        "PayloadFormatVersion": "2.0",
    }
    route = {"ApiId": {"Ref": "Api"}, "RouteKey": "POST /mcp", "Target": {"Fn::Sub": "integrations/${Integration}"}}
    resources: dict[str, Any] = {
        "F": {"Type": "AWS::Serverless::Function", "Properties": function},
        "Layer": {"Type": "AWS::Serverless::LayerVersion", "Properties": {"ContentUri": "layer"}},
        "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Name": "a", "ProtocolType": "HTTP"}},
        "Integration": {"Type": "AWS::ApiGatewayV2::Integration", "Properties": integration},
        "Route": {"Type": "AWS::ApiGatewayV2::Route", "Properties": route},
    }
    path = folder / "template.yaml"
    path.write_text(yaml.safe_dump({"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}), "utf-8")
    return path


def test_one_instance_remembers_every_call(template: Path) -> None:
    with LocalStack(template) as stack:
        assert [stack.invoke("F", {})["calls"] for _ in range(4)] == [1, 2, 3, 4]


def test_two_instances_take_turns(template: Path) -> None:
    with LocalStack(template, instances=2) as stack:
        assert [stack.invoke("F", {})["calls"] for _ in range(6)] == [1, 1, 2, 2, 3, 3]


def test_three_instances_take_turns(template: Path) -> None:
    with LocalStack(template, instances=3) as stack:
        assert [stack.invoke("F", {})["calls"] for _ in range(6)] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("memory", ["beside", "layer"])
def test_instances_share_no_module(template: Path, memory: str) -> None:
    with LocalStack(template, instances=2) as stack:
        assert [stack.invoke("F", {})[memory] for _ in range(4)] == [1, 1, 2, 2]


def test_instances_share_no_environment(template: Path) -> None:
    with LocalStack(template, instances=2) as stack:
        assert [stack.invoke("F", {})["environment"] for _ in range(4)] == ["1", "1", "2", "2"]


def test_all_modules_of_an_instance_share_their_state(template: Path) -> None:
    with LocalStack(template, instances=2) as stack:
        assert all(stack.invoke("F", {})["whole"] for _ in range(2))


def test_a_failed_invocation_counts_as_a_turn(template: Path) -> None:
    with LocalStack(template, instances=2) as stack:
        modules: list[str] = []
        for _ in range(2):
            with pytest.raises(FunctionError) as caught:
                stack.invoke("F", {"fail": True})
            modules.append(caught.value.message)

    assert len(set(modules)) == 2


def test_concurrent_requests_take_turns(template: Path) -> None:
    def calls(_: int) -> int:
        return httpx.post(f"{stack.base_url}/mcp", json={}, timeout=HANG_GUARD).json()["calls"]

    with LocalStack(template, instances=2) as stack, ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(calls, range(16)))

    assert sorted(counts) == sorted([*range(1, 9), *range(1, 9)]), json.dumps(counts)
