"""Set up an environment: `python3 requirements/environment.py .venv requirements/dev.txt [--editable .]`.

Run by the Python that the environment is to have. Of several commands that need the same environment, one sets it up,
and the others wait. Exit code 0, or that of what failed.
"""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path


def main(arguments: Sequence[str]) -> int:
    """Set up the environment, unless another command has just done so."""
    folder, lock = map(Path, arguments[:2])
    with alone(folder):
        if is_ready(folder, lock):
            return 0
        say(f"Setting up {folder}: a minute or two, once")
        shutil.rmtree(folder, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", folder], [folder / "bin/python", INSTALL, *arguments[1:]]):
            code = subprocess.call(command)  # noqa: S603 - the Makefile's words
            if code:
                return code
        (folder / "ready").touch()
    return 0


INSTALL = Path(__file__).parent / "install.py"


def is_ready(folder: Path, lock: Path) -> bool:
    """Return whether it is complete, and newer than its lock."""
    ready = folder / "ready"
    return ready.exists() and ready.stat().st_mtime >= lock.stat().st_mtime


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """Wait while another command sets up the same environment; the system lets go of the lock of one that dies."""
    with folder.with_name(f"{folder.name}.lock").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Another command is setting up {folder}: waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def say(words: str) -> None:
    """Write a line before what the next command writes."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
