"""A function that returns its event, or does what the request says."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shared


def handler(event: dict[str, Any], context: Any) -> Any:
    action = event.get("headers", {}).get("x-do", "echo")
    return ACTIONS[action](event)


def _echo(event: dict[str, Any]) -> Any:
    return {"event": event, "environment": dict(os.environ), "shared": shared.NAME}


def _fail(event: dict[str, Any]) -> Any:
    raise ValueError("a secret of the server's")


def _sleep(event: dict[str, Any]) -> Any:
    time.sleep(float(event["headers"]["x-seconds"]))
    return {"statusCode": 204}


def _wait(event: dict[str, Any]) -> Any:
    """Write a file to show that the request has arrived, and wait for another file."""
    Path(event["headers"]["x-arrived"]).touch()
    while not Path(event["headers"]["x-until"]).exists():
        time.sleep(0.05)
    return {"statusCode": 204}


def _answer(event: dict[str, Any]) -> Any:
    cookies = ["a=1; Secure", "b=2"]
    return {
        "statusCode": 201,
        "headers": {
            "X-Answer": 42,
            "Content-Type": "text/x",
            "Access-Control-Allow-Origin": "the function's own",
            "WWW-Authenticate": "Bearer",
        },
        "cookies": cookies,
        "body": "aGk=",
        "isBase64Encoded": True,
    }


ACTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "echo": _echo,
    "fail": _fail,
    "sleep": _sleep,
    "wait": _wait,
    "answer": _answer,
    "bad status": lambda event: {"statusCode": "many"},
    "text": lambda event: "just text",
}
