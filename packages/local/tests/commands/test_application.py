"""An application that is no endpoint of Stepwire: what its developer sees, on the screen and in the console."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from packages.local.tests.commands.test_serve import Served, serving
from stepwire_local.__main__ import main
from tests.waiting import HANG_GUARD, until

Json = dict[str, Any]
_CODE = """
import json, os
import boto3

def handler(event, context):
    if "order" not in event and "pathParameters" not in event:
        raise KeyError("order")
    order = event.get("order") or event["pathParameters"]["id"]
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order}, "count": {"N": "3"}})
    boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE"], MessageBody=json.dumps({"order": order}))
    return {"statusCode": 200, "body": order}
"""
_ASL = {"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": True}}}
_TEMPLATE: Json = {
    "Transform": "AWS::Serverless-2016-10-31",
    "Resources": {
        "Orders": {
            "Type": "AWS::Serverless::Function",
            "Properties": {
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "InlineCode": _CODE,
                "Environment": {"Variables": {"TABLE": {"Ref": "Table"}, "QUEUE": {"Ref": "Queue"}}},
                "Policies": [
                    {"DynamoDBCrudPolicy": {"TableName": {"Ref": "Table"}}},
                    {"SQSSendMessagePolicy": {"QueueName": {"Fn::GetAtt": "Queue.QueueName"}}},
                ],
                "Events": {
                    "Api": {"Type": "HttpApi", "Properties": {"Path": "/orders/{id}", "Method": "GET"}},
                    "Daily": {
                        "Type": "Schedule",
                        "Properties": {"Schedule": "rate(1 day)", "Input": '{"order": "S-1"}'},
                    },
                    "Idle": {"Type": "Schedule", "Properties": {"Schedule": "rate(1 hour)", "Enabled": False}},
                },
            },
        },
        "Table": {"Type": "AWS::Serverless::SimpleTable"},
        "Queue": {"Type": "AWS::SQS::Queue"},
        "Flow": {"Type": "AWS::Serverless::StateMachine", "Properties": {"Definition": _ASL}},
        "Alarm": {"Type": "Custom::Nothing"},
    },
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("shop of mine")
    (folder / "template.yaml").write_text(json.dumps(_TEMPLATE), encoding="utf-8")
    with serving(folder / "logs", folder / "template.yaml") as running:
        running.shows("Logs of the functions")
        yield running


def asked(served: Served, path: str) -> Any:
    return httpx.get(f"{served.url}/console/api/{path}", timeout=HANG_GUARD).json()


def test_its_screen_has_its_routes_and_requests_and_no_word_of_mcp(served: Served) -> None:
    answer = httpx.get(f"{served.url}/orders/A-7", timeout=HANG_GUARD)
    served.shows("GET     /orders/")

    screen = "\n".join(served.lines)
    assert answer.text == "A-7"
    assert "  GET /orders/{id}" in screen
    assert re.search(r"GET     /orders/\{id\} +200 +\d+ ms", screen)
    assert "Alarm: Custom::Nothing is not served" in screen
    assert f"stepwire-local invoke Orders '{{}}' --url {served.url}" in screen
    assert not re.search(r"mcp|task|agent|make ", screen, re.IGNORECASE)


def test_its_console_shows_what_it_has_and_nothing_asks_for_tools(served: Served) -> None:
    httpx.get(f"{served.url}/orders/A-8", timeout=HANG_GUARD)

    page = httpx.get(served.url, timeout=HANG_GUARD).text
    found = asked(served, "application")
    table, queue = found["tables"][0]["name"], found["queues"][0]["name"]

    assert "application.js" in page
    assert not re.search(r"mcp|tools|stepwire", page, re.IGNORECASE)
    assert [one["key"] for one in found["routes"]] == ["GET /orders/{id}"]
    assert [one["name"] for one in found["functions"]] == ["Orders"]
    assert re.fullmatch(r"shop-of-mine\d+-Table", table)
    assert {"id": "A-8", "count": 3} in asked(served, f"items/{table}")
    assert found["queues"][0]["waiting"] == len(asked(served, f"queued/{queue}")) > 0
    assert asked(served, "items/none") == {"message": "There is no table none."}
    assert "/mcp" not in json.dumps(asked(served, "messages"))


def test_an_execution_is_listed_with_its_graph(served: Served) -> None:
    account = next(line for line in served.lines if "AWS_ENDPOINT_URL" in line)
    client = _client("stepfunctions", account.partition("AWS_ENDPOINT_URL=")[2].split()[0])
    (machine,) = client.list_state_machines()["stateMachines"]

    client.start_execution(stateMachineArn=machine["stateMachineArn"], name="first")
    until(lambda: asked(served, "executions/first")["status"] == "SUCCEEDED")

    (listed,) = asked(served, "executions")
    shown = asked(served, "executions/first")
    served.shows("execution Flow -> SUCCEEDED  first")
    assert any(line.endswith(" state Flow -> Done  first") for line in served.lines)
    assert (listed["name"], listed["status"]) == ("first", "SUCCEEDED")
    assert shown["states"]["Done"]["status"] == "succeeded"
    drawn = asked(served, f"graphs/{shown['graph']}")
    assert [one["name"] for one in drawn["states"] if one["type"] == "Pass"] == ["Done"]


def _client(service: str, url: str) -> Any:
    session: Any = boto3.Session("local", "local", region_name="us-east-1")
    return session.client(service, endpoint_url=url)


@pytest.mark.parametrize("way", ["the event itself", "a file", "standard input"])
def test_a_function_is_invoked_with_an_event(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    event = {"order": "B-1"}
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", (tmp_path / "event.json").open(encoding="utf-8"))
    given = {"the event itself": json.dumps(event), "a file": str(tmp_path / "event.json"), "standard input": "-"}[way]

    code = main(["invoke", "Orders", given, "--url", served.url])

    assert code == 0
    assert json.loads(capsys.readouterr().out) == {"statusCode": 200, "body": "B-1"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["Orders"], 1, "error: Orders failed: KeyError: 'order'"),
        (["Nobody"], 2, "error: There is no function Nobody. The functions: Orders."),
        (["Orders", "{order"], 2, "error: The event is no JSON"),
        (["Orders", "gone.json"], 2, "error: gone.json cannot be read: No such file or directory."),
    ],
)
def test_what_cannot_be_invoked_is_told(
    served: Served, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert main(["invoke", *arguments, "--url", served.url]) == code

    assert words in capsys.readouterr().err


def test_a_schedule_fires_on_demand_and_its_event_is_a_line(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    fired = main(["fire", "OrdersDaily", "--url", served.url])
    shown = capsys.readouterr().out
    served.shows("schedule OrdersDaily -> Orders  rate(1 day)")
    missing = main(["fire", "Nobody", "--url", served.url])

    assert (fired, shown) == (0, "OrdersDaily fired: rate(1 day)\n")
    assert {"  OrdersDaily rate(1 day)", "  OrdersIdle rate(1 hour), disabled"} <= set(served.lines)
    assert missing == 2
    assert "error: There is no schedule Nobody. The schedules: OrdersDaily, OrdersIdle." in capsys.readouterr().err


def test_where_nothing_is_served_the_command_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["invoke", "Orders", "--url", "http://127.0.0.1:9"]) == 2

    assert "error: Nothing is served at http://127.0.0.1:9 (" in capsys.readouterr().err


def test_the_options_load_nothing_of_aws_so_that_help_takes_no_time() -> None:
    code = "import sys, stepwire_local.__main__; print({'boto3', 'botocore', 'moto', 'rich'} & set(sys.modules))"

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown == "set()\n"
