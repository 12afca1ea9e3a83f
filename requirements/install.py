"""Install a lock into an environment: `.venv/bin/python requirements/install.py requirements/dev.txt [--editable .]`.

Run by the environment's own, bare Python. On a terminal a bar shows how far it is; whatever pip says is shown only when
it fails, after one line that says what to do. Exit code 0, or pip's.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

# Why --no-deps: a lock is whole, so there is nothing to resolve. Why --no-compile: most of it is never imported.
PIP = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--no-deps")
# How pip's words begin or go on when it gets no answer; the last is all that is left of it where an index was not read.
NO_NETWORK = (
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "Connection refused",
    "Cannot connect to proxy",
    "ProxyError",
    "Read timed out",
    "ConnectTimeoutError",
    "(from versions: none)",
)
BAD_CERTIFICATE = ("CERTIFICATE_VERIFY_FAILED", "SSLError")
WIDTH = 30


def main(arguments: Sequence[str]) -> int:
    """Run pip on a lock, and then on what is to be editable."""
    lock, *editable = arguments
    commands = [[*PIP, "--require-hashes", "--requirement", lock]]
    if editable:
        commands.append([*PIP, "--no-build-isolation", *editable])
    for command in commands:
        code = install(command, packages_in(Path(lock).read_text(encoding="utf-8")), sys.stderr)
        if code:
            return code
    return 0


def install(command: Sequence[str], packages: int, screen: TextIO) -> int:
    """Run pip, and show how far it is, or why it failed."""
    with subprocess.Popen(  # noqa: S603 - the words are pip's
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as pip:
        said: list[str] = []
        for line in pip.stdout or ():
            said.append(line)
            show(progress(said, packages), screen)
    show("", screen)
    if pip.returncode:
        screen.writelines(f"{line.rstrip()}\n" for line in explained(said))
    return pip.returncode


def packages_in(lock: str) -> int:
    """Count the packages of a lock."""
    return sum(not line.startswith((" ", "#")) for line in lock.splitlines() if line.strip())


def progress(said: Sequence[str], packages: int) -> str:
    """Return a bar: most of the time goes into fetching, one package after the other; then all are unpacked."""
    if any(line.startswith("Installing collected packages") for line in said):
        return f"[{'#' * WIDTH}] unpacking"
    fetched = sum(line.startswith("Collecting ") for line in said)
    done = min(WIDTH, WIDTH * fetched // max(packages, 1))
    return f"[{'#' * done}{'.' * (WIDTH - done)}] {fetched} of {packages} packages"


def show(text: str, screen: TextIO) -> None:
    """Write over the line before, where somebody looks."""
    if screen.isatty():
        screen.write(f"\r\033[K{text}" if text else "\r\033[K")
        screen.flush()


def explained(said: Sequence[str]) -> Iterator[str]:
    """Yield what to do, where that is known, and what pip says of its failure."""
    text = "".join(said)
    if any(words in text for words in BAD_CERTIFICATE):
        yield "The packages cannot be fetched: a certificate is not trusted. Set PIP_CERT to your proxy's certificate."
    elif any(words in text for words in NO_NETWORK):
        yield "The packages cannot be fetched: check the network, or set HTTPS_PROXY or PIP_INDEX_URL, and try again."
    else:
        yield "The packages cannot be installed. pip says:"
        yield from said[-20:]
        return
    yield from [line for line in said if line.startswith("ERROR:")][:1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
