"""Make this machine ready for tests in a browser: `make browser`.

Installs Chromium from the system's packages where apt-get may, else says how; then what drives it, from npm. Exit
code 1 if there is no Chromium at the end.
"""

import os
import shutil
import subprocess
import sys
from typing import Final

from tests.browser.chromium import FOLDER, chromium
from tests.npm import install

HOW: Final = """There is no Chromium on this machine, or not under its usual names. Install it:
    Debian                sudo apt-get install chromium
    Ubuntu                sudo snap install chromium
    Fedora                sudo dnf install chromium
    macOS                 brew install --cask google-chrome
or name the program of a Chromium or Chrome: CHROMIUM=/path/to/it make test ALL=1"""


def main() -> int:
    """Install what is missing."""
    if chromium() is None and os.geteuid() == 0 and (apt := shutil.which("apt-get")):
        subprocess.run([apt, "install", "-y", "--no-install-recommends", "chromium"], check=False)
    found = chromium()
    if found is None:
        print(HOW, file=sys.stderr)
        return 1
    install(FOLDER)
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{found}: {said}. `make test ALL=1` runs the tests that need it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
