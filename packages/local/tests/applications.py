"""Applications of a few resources, whose functions keep the events that they get."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stepwire_local import LocalStack
from stepwire_local.activity import Activity, heard_by

KEEPS = """
seen = []

def handler(event, context):
    if event == "seen":
        return seen
    seen.append(event)
"""


def function(folder: str = "keeps", **properties: Any) -> dict[str, Any]:
    """Return a function of the template, by default one that keeps its events."""
    code = {"CodeUri": folder, "Handler": "app.handler", "Runtime": "python3.13", **properties}
    return {"Type": "AWS::Serverless::Function", "Properties": code}


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    """Return a resource of the template."""
    return {"Type": f"AWS::{kind}", "Properties": properties}


def arn(name: str) -> dict[str, Any]:
    """Return the ARN of a resource, as a template refers to it."""
    return {"Fn::GetAtt": [name, "Arn"]}


class Application:
    """An application that is served."""

    def __init__(self, stack: LocalStack, told: list[Activity]) -> None:
        self.stack = stack
        self.told = told
        """What was told of its events."""

    def seen(self, name: str) -> list[Any]:
        """Return the events that a function got, once nothing is under way."""
        self.stack.drain()
        return self.stack.invoke(name, "seen")

    def messages(self, queue: str) -> list[Any]:
        """Return the bodies of the messages in a queue, once nothing is under way."""
        self.stack.drain()
        url = self.stack.physical_ids[queue]
        received = self.stack.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [json.loads(one["Body"]) for one in received.get("Messages", [])]


@contextmanager
def served(
    folder: Path, resources: dict[str, Any], files: dict[str, str] | None = None, **settings: Any
) -> Generator[Application]:
    """Serve an application until the block ends."""
    for name, text in {"keeps/app.py": KEEPS, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
    template = folder / "template.json"
    template.write_text(json.dumps(body), encoding="utf-8")
    told: list[Activity] = []
    with LocalStack(template, **settings) as stack, heard_by(told.append):
        yield Application(stack, told)
