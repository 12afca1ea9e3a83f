"""Function mcp, as Lambda imports and invokes it. With SNAPSHOT set, what the snapshot holds is not measured."""

import os

from timing import Stopwatch

if "SNAPSHOT" in os.environ:
    import app
WATCH = Stopwatch()

import json  # noqa: E402 - what follows is measured

import app  # noqa: E402

WATCH.stop(app.handler(json.loads(os.environ["EVENT"]), None)["body"])
