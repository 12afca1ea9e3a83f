"""Colours that a person can read, whatever the background of the terminal."""

import re
from typing import Any

import pytest
from rich.style import Style

from packages.command.tests import operated
from packages.command.tests.aws import CREDENTIALS, aws_at
from packages.command.tests.terminal import at_a_terminal
from stepwire_cli.screen import COLOURS, STYLES

ENOUGH = 3.0
"""Contrast that WCAG 2 asks for what is not small print."""
BACKGROUNDS = {"white": "ffffff", "black": "000000", "Solarized light": "fdf6e3", "Solarized dark": "002b36"}
CHOSEN = {name: style for name, style in COLOURS.items() if style != "none"}


def luminance(red: int, green: int, blue: int) -> float:
    """Return the relative luminance of WCAG 2."""
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in
              (part / 255 for part in (red, green, blue))]  # fmt: skip
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("name", CHOSEN)
def test_each_colour_is_readable_on_light_and_dark(name: str, background: str) -> None:
    colour = Style.parse(CHOSEN[name]).color
    assert colour is not None

    text = luminance(*colour.get_truecolor())
    behind = luminance(*bytes.fromhex(BACKGROUNDS[background]))
    light, dark = max(text, behind), min(text, behind)

    assert (light + 0.05) / (dark + 0.05) >= ENOUGH


def test_each_status_has_one_of_these_colours() -> None:
    assert set(STYLES.values()) <= CHOSEN.keys()


@pytest.mark.parametrize("words", [["doctor", "tools"], ["task", operated.ID, "--stack", "live"]], ids=" ".join)
def test_no_command_uses_a_colour_of_the_theme_or_dims_a_text(words: list[str]) -> None:
    items: dict[str, Any] = {"Items": [], "ScannedCount": 2_000}
    aws = operated.account(operated.completed(operated.moment()), Query=items)
    with aws_at(aws) as url:
        environment = {**CREDENTIALS, "AWS_ENDPOINT_URL": url, "STEPWIRE_HOME": "/nonexistent"}
        session = at_a_terminal(words, environment=environment, folder=operated.EXAMPLE)

    assert not re.search(r"\x1b\[(?:[01];)?(?:2|3[0-7]|9[0-7])m", session.raw)
    assert "\x1b[38;5;" in session.raw, "it has colours"
    assert "Traceback" not in session.text
