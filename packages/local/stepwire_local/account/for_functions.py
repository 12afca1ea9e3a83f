"""The account's services for functions in processes of their own, on a free port of 127.0.0.1.

The rule: they are served from when the first such function asks where they are, and until the stack stops.
"""

from contextlib import ExitStack

from stepwire_local.account.services import Services
from stepwire_local.gateway.server import HOST, listen, serving


class AccountForFunctions:
    """The services of one account and Region."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._url = ""
        self._served = ExitStack()

    def url(self) -> str:
        """Return where the services are."""
        if not self._url:
            listener = listen(0)
            self._served.callback(listener.close)
            self._served.enter_context(serving(Services(HOST, self._region, served=None), listener))
            self._url = f"http://{HOST}:{listener.getsockname()[1]}"
        return self._url

    def close(self) -> None:
        """Stop serving."""
        self._served.close()
