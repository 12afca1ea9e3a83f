"""Ports for servers whose number others must know before they start."""

import itertools
import os
import socket
from contextlib import suppress
from typing import Final

# Below those that a system gives to whoever asks for any port: Linux begins at 32,768, the others at 49,152.
_FIRST: Final = 20_000
_COUNT: Final = 12_000
_OF_A_PROCESS: Final = 100  # so that processes side by side look in different places

_numbers: Final = itertools.count(os.getpid() * _OF_A_PROCESS)


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses, and that nobody gets until a server takes it by its number."""
    for number in itertools.islice(_numbers, _COUNT):
        port = _FIRST + number % _COUNT
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("every port is in use")
