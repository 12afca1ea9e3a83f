"""SSE answers and all methods of /mcp pass the HTTP front as they pass API Gateway."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from stepwire_local import LocalStack
from stepwire_local.gateway.server import listen
from tests.waiting import HANG_GUARD

CLIENT = httpx.Client(timeout=HANG_GUARD, limits=httpx.Limits(max_connections=None))

HANDLER = r'''
import json
import time
from pathlib import Path

def handler(event, context):
    headers = event["headers"]
    time.sleep(float(headers.get("x-seconds", 0)))
    meet(headers)
    seen = {"method": event["requestContext"]["http"]["method"], "headers": headers, "body": event.get("body")}
    if seen["method"] == "DELETE":
        return {"statusCode": 204, "headers": {"mcp-session-id": headers["mcp-session-id"]}}
    stream = f": ü\n\nid: 1\nretry: 500\ndata:\n\nid: 2\nevent: message\ndata: {json.dumps(seen)}\n\n"
    kept = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return {"statusCode": 200, "headers": {"Content-Type": "text/event-stream", **kept}, "body": stream}

def meet(headers):
    """Wait until as many requests as the caller says are here at the same time."""
    if "x-meet" in headers:
        place = Path(headers["x-meet"])
        place.joinpath(headers["last-event-id"]).touch()
        while len(list(place.iterdir())) < int(headers["x-count"]):
            time.sleep(0.05)
'''


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    folder = tmp_path_factory.mktemp("streams")
    (folder / "f").mkdir()
    (folder / "f" / "app.py").write_text(HANDLER, encoding="utf-8")
    (folder / "template.yaml").write_text(yaml.safe_dump(template("POST", "GET", "DELETE")), encoding="utf-8")
    with LocalStack(folder / "template.yaml") as served:
        yield served


def template(*methods: str) -> dict[str, Any]:
    integration = {
        "ApiId": {"Ref": "Api"},
        "IntegrationType": "AWS_PROXY",
        "IntegrationUri": {"Fn::GetAtt": ["F", "Arn"]},
        "PayloadFormatVersion": "2.0",
    }
    function = {"CodeUri": "f", "Handler": "app.handler", "Runtime": "python3.13", "Timeout": 10}
    resources: dict[str, Any] = {
        "F": {"Type": "AWS::Serverless::Function", "Properties": function},
        "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Name": "a", "ProtocolType": "HTTP"}},
        "Integration": {"Type": "AWS::ApiGatewayV2::Integration", "Properties": integration},
    }
    for method in methods:
        target = {"Fn::Sub": "integrations/${Integration}"}
        route = {"ApiId": {"Ref": "Api"}, "RouteKey": f"{method} /mcp", "Target": target}
        resources[f"{method.title()}Route"] = {"Type": "AWS::ApiGatewayV2::Route", "Properties": route}
    return {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}


def told(response: httpx.Response) -> Any:
    """Return the message of the last event of a stream."""
    return json.loads(response.text.rpartition("data: ")[2])


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_stream_passes_unchanged_and_with_its_length(stack: LocalStack, method: str) -> None:
    response = CLIENT.request(method, f"{stack.base_url}/mcp", headers={"accept": "text/event-stream"})

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    assert (response.headers["cache-control"], response.headers["x-accel-buffering"]) == ("no-store", "no")
    assert response.headers["content-length"] == str(len(response.content))
    assert "transfer-encoding" not in response.headers
    assert response.content.startswith(": ü\n\nid: 1\nretry: 500\ndata:\n\nid: 2\nevent: message\n".encode())
    assert response.content.endswith(b"\n\n")


def test_a_get_passes_its_headers_and_no_body(stack: LocalStack) -> None:
    sent = {"Accept": "text/event-stream", "Last-Event-ID": "7:MjA=", "Mcp-Session-Id": "a.b-c"}

    seen = told(CLIENT.get(f"{stack.base_url}/mcp", headers=sent))

    assert (seen["method"], seen["body"]) == ("GET", None)
    assert {name: seen["headers"][name.lower()] for name in sent} == sent


def test_a_delete_passes_its_session(stack: LocalStack) -> None:
    response = CLIENT.delete(f"{stack.base_url}/mcp", headers={"Mcp-Session-Id": "a.b-c"})

    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["mcp-session-id"] == "a.b-c"


def test_a_hundred_streams_are_served_at_once(stack: LocalStack, tmp_path: Path) -> None:
    def follow(number: int) -> Any:
        meeting = {"x-meet": str(tmp_path), "x-count": "100"}
        headers = {"accept": "text/event-stream", "last-event-id": str(number), **meeting}
        return told(CLIENT.get(f"{stack.base_url}/mcp", headers=headers))["headers"]["last-event-id"]

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(follow, range(100)))

    assert answers == [str(number) for number in range(100)]


def test_a_client_that_disconnects_does_not_affect_the_others(stack: LocalStack) -> None:
    with pytest.raises(httpx.ReadTimeout):
        CLIENT.get(f"{stack.base_url}/mcp", headers={"x-seconds": "60"}, timeout=httpx.Timeout(HANG_GUARD, read=0.1))

    assert CLIENT.get(f"{stack.base_url}/mcp").status_code == 200


def test_the_server_listens_on_the_loopback_address_only(stack: LocalStack) -> None:
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"

    with pytest.raises((ConnectionRefusedError, TimeoutError)):
        socket.create_connection(("127.0.0.2", stack.port), timeout=2)
