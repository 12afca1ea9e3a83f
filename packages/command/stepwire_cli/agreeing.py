"""A question with yes or no at the terminal."""

from stepwire_cli.keyboard import Keyboard, LeftOpen
from stepwire_cli.screen import Screen


def agrees(screen: Screen, question: str) -> bool:
    """Ask; Ctrl-C and Ctrl-D end the command."""
    answers = {"y": True, "n": False, "": False}
    if not screen.is_interactive:
        return False
    try:
        with Keyboard() as keyboard:
            while True:
                screen.ask(f"{question} [y/n] (n): ")
                if (answer := keyboard.line().strip().lower()) in answers:
                    return answers[answer]
    except LeftOpen:
        screen.say("")
        raise KeyboardInterrupt from None
