"""How a command that ran functions ends."""

import logging
import os
import sys
from typing import NoReturn


def leave(code: int) -> NoReturn:
    """Flush all output, and end the process without finalizing the interpreter. Stop the stack before.

    Why without: threads of functions cannot be stopped and may still run. Native modules that functions have loaded,
    such as DuckDB's, would print pages of "nanobind: leaked ... instances!" about objects that these threads and
    module caches hold, which is no leak at the end of a process.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a closed pipe has no reader
            code = code or 1
    os._exit(code)
