"""Pictures of Claude Code on a terminal: a refund is asked for, its form asks, and the result wakes the agent.

Claude Code is the real one, its model a script on this machine (tools/hosts). tmux reads what it wrote, as a terminal
does, and rich draws that as SVG.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from tools.hosts import model, site
from tools.hosts.hosts import Host, Places, variables_of
from tools.hosts.model import Script
from tools.hosts.process import Running, TooLong, home, running
from tools.hosts.wires import Conversation, Say, Turn

_COLUMNS, _ROWS = 120, 40
_SECONDS: Final = 120
_OFFERING: Final = 4.0  # seconds until the host offers its model the tools that it has listed; nothing shows that
_PROMPT: Final = "Please refund 100 euros of order A-1002: the chair wobbles."
_REFUND: Final = {"order_id": "A-1002", "amount": "100.00", "currency": "EUR", "reason": "The chair wobbles."}
_STARTED: Final = "I have asked for the refund. It needs your approval; I will hear when it is done."
_MADE: Final = "The refund is made: 100.00 EUR for order A-1002, approved by you."
# GitHub shows a picture without what it links to, so it names fonts that readers have.
_LINKED_FONTS: Final = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
_LINKS: Final = re.compile(r"(?:href=|src=|url\()[\"']?http")
_FONTS: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class NotShown(Exception):
    """The host did not show what the picture is of."""


class _Refund(Script):
    """Calls the tool, and says in words what became of it."""

    def turn(self, shown: Conversation) -> Turn:
        turn = super().turn(shown)
        if not isinstance(turn, Say) or not shown.called:
            return turn
        return Say(_MADE if any("refund_id" in text for text in (*shown.results, *shown.said)) else _STARTED)


def missing() -> str | None:
    """Return what this machine lacks; None if nothing."""
    return None if shutil.which("tmux") else "no tmux on this machine, which reads the terminal"


def make(host: Host, folder: Path) -> Sequence[Path]:
    """Make the pictures; return their files.

    Raises:
        NotShown: the host did not get so far.
    """
    asks, done = folder / "claude-code-asks.svg", folder / "claude-code-done.svg"
    script = _Refund("approve_refund", _REFUND)
    with site.serving({}) as endpoint, model.serving(script) as scripted, home() as place:
        places = Places(place, endpoint.url, scripted.url)
        command = host.prepare(places)
        variables = {**variables_of(places), **command.variables, "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        connect = host.connection(places)
        assert connect is not None
        with running(connect, place, variables, on_terminal=False) as process:
            assert process.exit_code() == 0, process.text()
        with running(host.words(command.arguments), place, variables, on_terminal=True) as process:
            try:
                process.until("the list of tools", lambda: "tools/list" in endpoint.methods, _SECONDS)
                time.sleep(_OFFERING)
                process.press(_PROMPT, "\r")
                process.until("a form", lambda: "requestsyourinput" in process.text(), _SECONDS)
                _still(process)
                _draw(process, asks)
                process.press(*host.answer)
                process.until("the result", lambda: scripted.has_read("refund_id"), _SECONDS)
                process.until("the last words", lambda: _MADE.replace(" ", "") in process.text(), _SECONDS)
                _still(process)
                _draw(process, done)
            except TooLong as error:
                raise NotShown(f"{error}: {process.text()[-300:]}") from error
    return asks, done


def _still(process: Running) -> None:
    process.until("a still screen", lambda: time.monotonic() - process.drawn_at > 1, 10)


def _draw(process: Running, path: Path) -> None:
    lines = screen(bytes(process.shown)).rstrip().splitlines()
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    drawn = console.export_svg(title="Claude Code", unique_id=path.stem)
    drawn = _LINKED_FONTS.sub("", drawn).replace("Fira Code, monospace", _FONTS)
    assert not _LINKS.search(drawn), "the picture links to something"
    path.write_text(drawn, encoding="utf-8")


def screen(written: bytes) -> str:
    """Return what a terminal shows after a program has written so much, with its colours as escape sequences."""
    name = f"stepwire-pictures-{os.getpid()}"
    tmux = ["tmux", "-L", name, "-f", "/dev/null"]
    with tempfile.NamedTemporaryFile() as file:
        file.write(written)
        file.flush()
        size = ["-x", str(_COLUMNS), "-y", str(_ROWS)]
        marker = f"stty -echo; cat {file.name}; tmux -L {name} wait-for -S shown; exec sleep 60"
        subprocess.run([*tmux, "new-session", "-d", *size, marker], check=True)
        try:
            subprocess.run([*tmux, "wait-for", "shown"], check=True, timeout=30)
            time.sleep(0.5)  # tmux has read the bytes, and draws
            return subprocess.run(
                [*tmux, "capture-pane", "-e", "-p"], check=True, capture_output=True, text=True
            ).stdout
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
