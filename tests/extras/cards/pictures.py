"""Pictures of the card in a host, in light and dark: `python -m tests.extras.cards.pictures FOLDER`."""

import sys
from pathlib import Path

from tests.extras.cards.host import Card, card_host
from tests.extras.cards.screens import SCREENS
from tests.extras.cards.views import DARK, LIGHT

WIDTH = 560  # pixels


def take(card: Card, folder: Path) -> list[Path]:
    """Write a picture of each screen in light and dark, and of a narrow one; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[Path] = []

    def picture(name: str) -> None:
        taken.append(folder / f"card-{name}.png")
        card.pictured(taken[-1])

    for theme, context in (("light", LIGHT), ("dark", DARK)):
        for name, screen in SCREENS.items():
            screen.opens(card, context=context, dark=theme == "dark", width=WIDTH, height=80, scale=2, grows=True)
            picture(f"{name}-{theme}")
        SCREENS["wrong"].opens(card, context=context, dark=theme == "dark", width=320, height=80, scale=2, grows=True)
        picture(f"narrow-{theme}")
    return taken


def main(folder: str) -> None:
    """Take the pictures, and say where they are."""
    with card_host() as card:
        sys.stdout.writelines(f"{path}\n" for path in take(card, Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
