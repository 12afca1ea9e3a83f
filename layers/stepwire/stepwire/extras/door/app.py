"""The handler of a function behind a REST API: its own, asked in the words of an HTTP API.

Lambda imports this module from the layer in place of the function's own `app`, which it imports first: so whatever that
module does while a snapshot is made, is done.
"""

import importlib
import os
from typing import Any, Final

from stepwire.aws.settings import read_list
from stepwire.extras.door.rest_events import RestDoor

_own: Final = importlib.import_module("app").handler


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Return the response to one request of a REST API, or of an HTTP API that is about to go."""
    if "httpMethod" not in event:
        return _own(event, context)
    door = RestDoor(read_list(os.environ, "ALLOWED_ORIGINS"))
    return door.answer(event, lambda asked: _own(asked, context))
