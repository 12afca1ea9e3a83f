"""Questions at the terminal: one with yes or no, and one with a line."""

from stepwire_cli.keyboard import Keyboard, LeftOpen
from stepwire_cli.screen import Screen


def agrees(screen: Screen, question: str) -> bool:
    """Ask; Ctrl-C and Ctrl-D end the command."""
    answers = {"y": True, "n": False, "": False}
    if not screen.is_interactive:
        return False
    while (answer := answered(screen, f"{question} [y/n] (n): ").lower()) not in answers:
        pass
    return answers[answer]


def answered(screen: Screen, prompt: str) -> str:
    """Ask for a line, without the space around it; Ctrl-C and Ctrl-D end the command."""
    try:
        with Keyboard() as keyboard:
            screen.ask(prompt)
            return keyboard.line().strip()
    except LeftOpen:
        screen.say("")
        raise KeyboardInterrupt from None
