"""Connect to the address that was checked, not to what its name means by then.

A name can get another address between a check and its use. So whoever checks a name passes its addresses on with the
request, and the connection goes to one of them; TLS and the header `Host` still have the name. With a proxy in the
environment that does not hold: the proxy resolves names itself.
"""

import ssl
from typing import Final
from urllib.request import getproxies

import httpx2

ADDRESSES: Final = "stepwire_addresses"
"""The extension of a request that holds the checked addresses of its host."""


class Pinned(httpx2.BaseTransport):
    """Sends each request to the addresses that it names, in their order, until one answers.

    Args:
        inner: opens the connections. It must keep none: to it, hosts at one address are the same host.
    """

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            httpx2.ConnectError: no address is named, or none can be reached.
        """
        failed = httpx2.ConnectError("its name has no address", request=request)
        for address in request.extensions.get(ADDRESSES, ()):
            try:
                return self._inner.handle_request(_sent_to(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
        raise failed

    def close(self) -> None:
        """Close what is open."""
        self._inner.close()


def pinned_client(trust: ssl.SSLContext | None = None) -> httpx2.Client:
    """Return a client whose requests go to the addresses that they name; by proxies, if the environment has some.

    Args:
        trust: whose certificates are accepted; None: the usual ones.
    """
    verify = trust or True
    if getproxies().keys() & {"http", "https", "all"}:
        return httpx2.Client(verify=verify)
    none_kept = httpx2.Limits(max_keepalive_connections=0)
    return httpx2.Client(transport=Pinned(httpx2.HTTPTransport(verify=verify, limits=none_kept)))


def _sent_to(request: httpx2.Request, address: str) -> httpx2.Request:
    name = request.url.host
    # The header Host was made of the URL with the name, and the certificate is checked for that name.
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": name},
    )
