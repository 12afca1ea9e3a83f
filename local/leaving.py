"""How a command that ran functions ends."""

import logging
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """End the process, after everything that was written is out.

    The interpreter is not taken down. Threads of functions cannot be ended and may still run, and native modules that
    functions have loaded, such as DuckDB's, would write pages of "nanobind: leaked ... instances!" about the objects
    that these threads and the caches of modules hold: no leak, for the process is over. Whoever calls this has stopped
    the stack before.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a closed pipe: nobody reads it
            code = code or 1
    os._exit(code)
