"""Serve a template on 127.0.0.1 until Ctrl-C or SIGTERM.

Exit code 0 after a stop that was asked for, 2 when the template cannot be served: then with one line that says why.
"""

import argparse
import json
import logging
import signal
import sys
import threading
from collections.abc import Sequence

from local import LocalStack, LocalStackError, after


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    stopping = threading.Event()

    def stop(number: int, frame: object) -> None:  # noqa: ARG001  # what a signal handler is given
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        expiry, parameters = after(options.expire_after), dict(options.parameter)
        with LocalStack(options.template, port=options.port, parameters=parameters, expiry=expiry) as stack:
            print(welcome(stack), flush=True)
            stopping.wait()
    except LocalStackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description="Serve a SAM template on 127.0.0.1.")
    parser.add_argument("--template", default="template.yaml", help="the template (default: %(default)s)")
    parser.add_argument("--port", type=int, default=3000, help="0 takes any free one (default: %(default)s)")
    parser.add_argument(
        "--parameter",
        action="append",
        type=_assignment,
        default=[],
        metavar="KEY=VALUE",
        help="of the template; may be repeated",
    )
    parser.add_argument(
        "--expire-after",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how late items go whose time to live is over (default: %(default)s; in AWS hours or days)",
    )
    return parser


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


def welcome(stack: LocalStack) -> str:
    """Return what the terminal shows once the stack serves."""
    snippet = json.dumps({"mcpServers": {"stepwire": {"type": "http", "url": stack.url}}})
    lines = [
        f"Serving {stack.url} (Ctrl-C stops; data are not kept)",
        "",
        "Connect an MCP client:",
        f"  claude mcp add --transport http stepwire {stack.url}",
        f"  {snippet}",
    ]
    if stack.not_served:
        lines += ["", "Not served, or not as in AWS:", *(f"  {note}" for note in stack.not_served)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
