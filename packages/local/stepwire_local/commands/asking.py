"""Ask the application that is served, as its console's page does.

The rule: nothing here ends the wait, because a function may take 15 minutes.
"""

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from stepwire_local.errors import LocalStackError


def asked(url: str, what: str, name: str, body: bytes) -> dict[str, Any]:
    """Return the answer to a request about something of a name.

    Raises:
        LocalStackError: nothing is served there, or it has nothing of this name.
    """
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    # What the console's page sends too, and no page elsewhere can.
    headers = {"content-type": "application/json", "origin": origin, "x-stepwire-console": "1"}
    request = Request(f"{origin}/console/api/{what}/{quote(name)}", body, headers)  # noqa: S310  # of the user
    try:
        with urlopen(request) as answered:  # noqa: S310  # the same
            return json.load(answered)
    except HTTPError as error:
        raise LocalStackError(_refusal(error)) from error
    except (URLError, ValueError, OSError) as error:
        why = getattr(error, "reason", error)
        raise LocalStackError(
            f"Nothing is served at {origin} ({why}). Start it with stepwire-local, or name its address with --url."
        ) from error


def _refusal(error: HTTPError) -> str:
    try:
        return str(json.load(error)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.url} answered with status {error.code}: no application is served there by stepwire-local."
