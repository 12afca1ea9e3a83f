"""Serve a template on 127.0.0.1, or with --services what it needs of AWS, until Ctrl-C or SIGTERM.

Exit code 0 after a stop that was asked for, 2 when the template cannot be served: then with one line that says why.
"""

import argparse
import json
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

from local import LocalStack, LocalStackError, after
from local.sam_local import write_env_vars
from local.services import SERVED

_PORTS = {False: 3000, True: 4566}


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
        host = str(options.host) if options.services else None
        port = options.port if options.port is not None else _PORTS[options.services]
        with LocalStack(options.template, port=port, parameters=parameters, expiry=expiry, services_at=host) as stack:
            if options.services:
                write_env_vars(stack, options.env_vars)
            print(services_welcome(stack, options) if options.services else welcome(stack), flush=True)
            stopping.wait()
    except LocalStackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description="Serve a SAM template on 127.0.0.1.")
    parser.add_argument("--template", default="template.yaml", help="the template (default: %(default)s)")
    parser.add_argument("--port", type=int, help="0 takes any free one (default: 3000; with --services 4566)")
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
    services = parser.add_argument_group("for `sam local`, which serves the API itself")
    services.add_argument(
        "--services", action="store_true", help="serve the services of AWS, with the template's resources in them"
    )
    services.add_argument(
        "--host",
        type=_address,
        default=IPv4Address("127.0.0.1"),
        metavar="ADDRESS",
        help="the IPv4 address of this machine that they listen on (default: %(default)s)",
    )
    services.add_argument(
        "--env-vars",
        type=Path,
        default=Path(".aws-sam/local-env.json"),
        metavar="FILE",
        help="where the functions' environment variables are written (default: %(default)s)",
    )
    return parser


def _address(text: str) -> IPv4Address:
    try:
        address = IPv4Address(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an IPv4 address") from None
    if address.is_unspecified:
        raise argparse.ArgumentTypeError(f"{text} is every address of this machine; name the one that containers call")
    return address


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
    return "\n".join([*lines, *_not_served(stack)])


def services_welcome(stack: LocalStack, options: argparse.Namespace) -> str:
    """Return what the terminal shows once the services are there."""
    host: IPv4Address = options.host
    warning = f"WARNING: whoever reaches {host} can use these services and read what is in them."
    lines = [
        f"Serving {', '.join(SERVED)} on http://{host}:{stack.port} (Ctrl-C stops; data are not kept)",
        *([] if host.is_loopback else [warning]),
        f"Containers find them at {stack.services_url}; {options.env_vars} tells the functions so.",
        "",
        "In another terminal, after `sam build`:",
        f"  sam local start-api --env-vars {options.env_vars} --disable-authorizer",
        f"  sam local invoke McpFunction -e events/http_post_legacy.json --env-vars {options.env_vars}",
    ]
    return "\n".join([*lines, *_not_served(stack)])


def _not_served(stack: LocalStack) -> Sequence[str]:
    if not stack.not_served:
        return ()
    return ["", "Not served, or not as in AWS:", *(f"  {note}" for note in stack.not_served)]


if __name__ == "__main__":
    sys.exit(main())
