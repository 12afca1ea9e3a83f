"""Let a schedule of the application that is served fire now."""

import argparse
import sys

from stepwire_local.commands.asking import asked


def run(options: argparse.Namespace) -> int:
    """Fire a schedule; return 0. What gets its event is shown where the application is served.

    Raises:
        LocalStackError: nothing is served there, or it has no such schedule.
    """
    fired = asked(options.url, "schedules", options.schedule, b"{}")
    sys.stdout.write(f"{options.schedule} fired: {fired['text']}\n")
    return 0
