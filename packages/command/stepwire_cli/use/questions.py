"""Questions of a server, asked at the terminal: forms field by field, and pages to open.

The rules: an answer conforms to its form, or is asked for again. Ctrl-C and Ctrl-D leave the question open. The prompt
ends, too, when the question does: somebody else has answered it, it has expired, or the task has ended.
"""

import asyncio
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from stepwire_cli.exits import CommandError
from stepwire_cli.keyboard import Keyboard, LeftOpen
from stepwire_cli.screen import Screen
from stepwire_cli.use.forms import Choice, checked, choices_of, fields_of, required_in

Json = Mapping[str, Any]
_OPENED: Final = ("https://", "http://")


@dataclass(frozen=True)
class Person:
    """Whoever sits at the terminal."""

    screen: Screen
    leave: Callable[[], Awaitable[None]]
    """Is awaited if the person does not answer, or nobody is there. It does not return."""
    has_left: Callable[[], bool] = lambda: False
    """Tells whether Ctrl-C came before the question."""
    keyboard: Keyboard = field(default_factory=Keyboard)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One question is asked at a time."""

    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        """Ask, and return the answer."""
        if self.screen.is_interactive:
            try:
                async with self.turn:
                    with self.keyboard:  # for the whole question: nothing is lost between two lines
                        if not self.has_left():
                            return await self._asked(params)
            except LeftOpen:
                pass
        await self.leave()
        raise LeftOpen

    async def _asked(self, params: ElicitRequestParams) -> ElicitResult:
        self.screen.holds = True
        try:
            return await self._answer(params)
        except asyncio.CancelledError:
            self.screen.say("")
            self.screen.say(
                "The question is not open any more: it was answered elsewhere, it expired, or the task ended."
            )
            raise
        finally:
            self.screen.holds = False

    async def _answer(self, params: ElicitRequestParams) -> ElicitResult:
        self.screen.say("")
        self.screen.say(f"? {params.message}", "bold")
        if isinstance(params, ElicitRequestURLParams):
            return await self._page(params.url)
        try:
            fields, options = fields_of(params), "Answer, decline, or close the question? [A/d/c]"
        except CommandError as error:
            self.screen.say(f"  {error}", "bad")
            fields, options = None, "Decline, or close the question? [d/c]"
        answers = {"d": "d", "c": "c"} if fields is None else {"": "a", "a": "a", "d": "d", "c": "c"}
        match await self.choice(options, answers):
            case "d":
                return ElicitResult(action="decline")
            case "c":
                return ElicitResult(action="cancel")
            case _:
                return ElicitResult(action="accept", content=await self._form(fields or {}, required_in(params)))

    async def _page(self, url: str) -> ElicitResult:
        self.screen.say(f"  {url}")
        if _can_be_opened(url) and await self.choice("Open this page? [Y/n]", {"": "y", "y": "y", "n": "n"}) == "y":
            webbrowser.open(url)
        done = await self.choice("Enter when you are done there, d to decline. ", {"": "y", "d": "n"})
        return ElicitResult(action="accept" if done == "y" else "decline")

    async def _form(self, fields: Mapping[str, Json], required: Sequence[str]) -> dict[str, Any]:
        entered = {name: await self._field(name, one, is_required=name in required) for name, one in fields.items()}
        return {name: value for name, value in entered.items() if value is not None}

    async def _field(self, name: str, field: Json, *, is_required: bool) -> Any:
        """Ask for one field until its value is valid; None for an optional field left empty."""
        choices = choices_of(field)
        self._describe(name, field, choices, is_required=is_required)
        while True:
            text = (await self.line("  > ")).strip()
            if not text and "default" in field:
                return field["default"]
            if not text and not is_required:
                return None
            try:
                return checked(text, name, field, choices)
            except CommandError as error:
                self.screen.say(f"  {error}", "bad")

    def _describe(self, name: str, field: Json, choices: Sequence[Choice], *, is_required: bool) -> None:
        words = f": {field['description']}" if "description" in field else ""
        suggested = f" [{_shown(field['default'])}]" if "default" in field else "" if is_required else " [empty]"
        self.screen.say(f"  {field.get('title') or name}{words}{suggested}")
        for number, choice in enumerate(choices, 1):
            self.screen.say(f"    {number}  {choice.name}")

    async def choice(self, question: str, answers: Mapping[str, str]) -> str:
        """Ask until the answer is one of these."""
        while (answer := (await self.line(f"  {question} ")).strip().lower()[:1]) not in answers:
            pass
        return answers[answer]

    async def line(self, prompt: str) -> str:
        """Return a typed line.

        Raises:
            LeftOpen: Ctrl-C or Ctrl-D.
        """
        self.screen.pause()
        with self.keyboard:
            self.screen.ask(prompt)
            try:
                return await self.keyboard.line_meanwhile()
            except LeftOpen:
                self.screen.say("")
                raise


def _can_be_opened(url: str) -> bool:
    """Tell whether a browser opens what the person has read: it leaves out line ends, and shows spaces otherwise."""
    return url.startswith(_OPENED) and url.isascii() and url.isprintable() and " " not in url


def _shown(default: Any) -> str:
    return ", ".join(map(str, cast("list[object]", default))) if isinstance(default, list) else str(default)
