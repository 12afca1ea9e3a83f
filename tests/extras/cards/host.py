"""The card in a host of MCP Apps, in a real Chromium: what a test does with it, and what it sees.

The program `cards.mjs` of `tests/browser/node` is the host; it obeys one line of JSON at a time. Its clock stands still
until `passes`.
"""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from stepwire.extras.cards import resources
from tests.browser.chromium import FOLDER, chromium
from tests.npm import NODE, install

PAGE: Final = Path(resources.__file__).parent / "card.html"


class Card:
    """A card that is shown in a host; `opens` shows another one."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def opens(self, **wish: Any) -> "Card":
        """Show a card in a new host.

        Args:
            wish: `result` (of the tool), `replies` (by the card's tool: its results, the last one repeated; `denied`
                refuses), `context` (of the host), `width`, `height`, `dark`, `reduced` motion, `zone`, `language`,
                `time` (ISO 8601), `frame="opaque"` (scripts and no more), `deaf` (to what the model shall hear),
                `opensNothing`, `grows` (with the card), `capabilities` (of the host). With `url`, the card is that
                server's, called by a released client: `mode` (`legacy` or `auto`), `tool`, `input`, `denies` (words),
                `changed` (members of the tool's result).
        """
        self._does("open", wish={"html": str(PAGE), **wish})
        return self

    def reloads(self) -> None:
        """Tear the card down and show it again, as a host does when its page is loaded again."""
        self._does("reload")

    def torn_down(self) -> None:
        """Announce the end of the card."""
        self._does("teardown")

    def gets(self, result: dict[str, Any]) -> None:
        """Send the tool's result."""
        self._does("result", result=result)

    def hears_of_cancellation(self) -> None:
        """Say that the call of the tool was cancelled."""
        self._does("cancelled", reason="the user stopped it")

    def changes(self, **changed: Any) -> None:
        """Change the host's context."""
        self._does("context", changed=changed)

    def replied(self, **replies: list[dict[str, Any]]) -> None:
        """Set the results of the card's tools."""
        self._does("replies", replies=replies)

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self._does("pass", seconds=seconds)

    def presses(self, name: str, role: str = "button") -> None:
        """Click what has this role and name."""
        self._does("press", name=name, role=role)

    def types(self, *keys: str) -> None:
        """Press keys."""
        for key in keys:
            self._does("key", key=key)

    def fills(self, label: str, text: str) -> None:
        """Write into a field."""
        self._does("fill", label=label, text=text)

    def picks(self, label: str, option: str) -> None:
        """Choose from a list."""
        self._does("pick", label=label, option=option)

    def checks(self, label: str) -> None:
        """Check a box."""
        self._does("check", label=label)

    def sees(self, *texts: str) -> None:
        """Wait until these are visible."""
        for text in texts:
            self._does("see", text=text)

    def sees_no_more(self, text: str) -> None:
        """Wait until this is not visible."""
        self._does("gone", text=text)

    def calls(self) -> list[dict[str, Any]]:
        """Return the calls of tools that the card made."""
        return self._heard("calls")

    def told(self) -> list[str]:
        """Return what was put into the model's context."""
        return [one["content"][0]["text"] for one in self._heard("told")]

    def messages(self) -> list[str]:
        """Return the messages that were sent in the user's name."""
        return [one["content"][0]["text"] for one in self._heard("messages")]

    def links(self) -> list[str]:
        """Return the addresses that the host was asked to open."""
        return self._heard("links")

    def heights(self) -> list[int]:
        """Return the heights in pixels that the card reported."""
        return self._heard("heights")

    def scrolls_away(self) -> None:
        """Put the card below the visible part of the host's page."""
        self._does("scroll", isAway=True)

    def scrolls_back(self) -> None:
        """Undo `scrolls_away`."""
        self._does("scroll", isAway=False)

    @property
    def text(self) -> str:
        """What is visible."""
        return str(self._does("text"))

    def looks(self, script: str) -> Any:
        """Return the value of an expression in the card's page."""
        return self._does("look", script=script)

    def foreign_requests(self) -> list[str]:
        """Return the requests of the browser that were not for the pages of the host."""
        seen = self._does("requests")
        return [one for one in seen["urls"] if one not in [*seen["own"], "about:srcdoc"]]

    def problems(self) -> list[str]:
        """Return the errors of the page's scripts, and what its policies blocked."""
        return list(self._does("requests")["problems"])

    def accessibility_violations(self) -> list[str]:
        """Return what axe-core finds against WCAG 2.2 AA and its best practices."""
        return list(self._does("axe"))

    def pictured(self, path: Path) -> None:
        """Write a picture of the host's page."""
        self._does("picture", path=str(path))

    def _heard(self, kind: str) -> list[Any]:
        return list(self._does("heard")[kind])

    def _does(self, deed: str, **how: Any) -> Any:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        print(json.dumps({"do": deed, **how}), file=self._program.stdin, flush=True)
        answer = json.loads(self._program.stdout.readline() or '{"error": "the host ended"}')
        assert "error" not in answer, f"{deed} {how}: {answer['error']}"
        return answer["value"]


@contextmanager
def card_host() -> Generator[Card]:
    """Start the host; it ends with its input."""
    install(FOLDER)
    command = [str(NODE), "cards.mjs", str(chromium())]
    with subprocess.Popen(command, cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield Card(program)
        assert program.stdin is not None
        program.stdin.close()
