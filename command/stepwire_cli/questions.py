"""Questions of a server, asked at the terminal: forms field by field, and pages to open.

The rule: an answer conforms to its form, or is asked for again. Ctrl-C and Ctrl-D leave the question open.
"""

import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import jsonschema
from mcp_types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult

from stepwire_cli.arguments import value_of
from stepwire_cli.exits import CommandError
from stepwire_cli.keyboard import Keyboard, LeftOpen
from stepwire_cli.screen import Screen, plain

Json = Mapping[str, Any]
_OPENED: Final = ("https://", "http://")


@dataclass(frozen=True)
class Choice:
    """A value that a field may have, and its name."""

    value: str
    name: str


@dataclass(frozen=True)
class Person:
    """Whoever sits at the terminal."""

    screen: Screen
    leave: Callable[[], Awaitable[None]]
    """Is awaited if the person does not answer, or nobody is there. It does not return."""
    has_left: Callable[[], bool] = lambda: False
    """Tells whether Ctrl-C came before the question."""
    keyboard: Keyboard = field(default_factory=Keyboard)

    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        """Ask, and return the answer."""
        if self.screen.is_interactive:
            try:
                with self.keyboard:  # for the whole question: nothing is lost between two lines
                    if not self.has_left():
                        return self._answer(params)
            except LeftOpen:
                pass
        await self.leave()
        raise LeftOpen

    def _answer(self, params: ElicitRequestParams) -> ElicitResult:
        self.screen.say(f"\n? {params.message}", "bold")
        if isinstance(params, ElicitRequestURLParams):
            return self._page(params.url)
        match self.choice("Answer, decline, or close the question? [A/d/c]", {"": "a", "a": "a", "d": "d", "c": "c"}):
            case "d":
                return ElicitResult(action="decline")
            case "c":
                return ElicitResult(action="cancel")
            case _:
                return ElicitResult(action="accept", content=self._form(params.requested_schema))

    def _page(self, url: str) -> ElicitResult:
        self.screen.say(f"  {url}")
        if url.startswith(_OPENED) and self.choice("Open this page? [Y/n]", {"": "y", "y": "y", "n": "n"}) == "y":
            webbrowser.open(url)
        done = self.choice("Enter when you are done there, d to decline. ", {"": "y", "d": "n"})
        return ElicitResult(action="accept" if done == "y" else "decline")

    def _form(self, schema: Json) -> dict[str, Any]:
        required = schema.get("required", ())
        entered = {
            name: self._field(name, field, is_required=name in required)
            for name, field in schema.get("properties", {}).items()
        }
        return {name: value for name, value in entered.items() if value is not None}

    def _field(self, name: str, field: Json, *, is_required: bool) -> Any:
        """Ask for one field until its value is valid; None for an optional field left empty."""
        choices = choices_of(field)
        self._describe(name, field, choices, is_required=is_required)
        while True:
            text = self.line("  > ").strip()
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

    def choice(self, question: str, answers: Mapping[str, str]) -> str:
        """Ask until the answer is one of these."""
        while (answer := self.line(f"  {question} ").strip().lower()[:1]) not in answers:
            pass
        return answers[answer]

    def line(self, prompt: str) -> str:
        """Return a typed line.

        Raises:
            LeftOpen: Ctrl-C or Ctrl-D.
        """
        self.screen.pause()
        with self.keyboard:
            self.screen.ask(prompt)
            try:
                return self.keyboard.line()
            except LeftOpen:
                self.screen.say("")
                raise


def choices_of(field: Json) -> list[Choice]:
    """Return the values that a field, or each of its items, may have."""
    source = cast(Json, field.get("items", field)) if field.get("type") == "array" else field
    for keyword in ("oneOf", "anyOf"):
        if keyword in source:
            return [Choice(one["const"], one.get("title", one["const"])) for one in source[keyword]]
    values = source.get("enum", ())
    names = source.get("enumNames", values)
    return [Choice(value, name) for value, name in zip(values, names, strict=False)]


def checked(text: str, name: str, field: Json, choices: Sequence[Choice] = ()) -> Any:
    """Return a typed text as a value of a field.

    Raises:
        CommandError: it is none; the message says why.
    """
    value: Any
    if field.get("type") == "array":
        value = [_chosen(part.strip(), choices) for part in text.split(",") if part.strip()]
    elif choices:
        value = _chosen(text, choices)
    else:
        value = value_of(text, field, name)
    try:
        jsonschema.validate(value, dict(field), format_checker=jsonschema.FormatChecker())
    except jsonschema.ValidationError as error:
        raise CommandError(f"{name}: {plain(error.message)}.") from None
    return value


def _chosen(text: str, choices: Sequence[Choice]) -> str:
    """Return the value that a number, a name or the value itself says."""
    if text.isdecimal() and 1 <= int(text) <= len(choices) and text not in {one.value for one in choices}:
        return choices[int(text) - 1].value
    return next((one.value for one in choices if text in (one.value, one.name)), text)


def _shown(default: Any) -> str:
    return ", ".join(map(str, cast("list[object]", default))) if isinstance(default, list) else str(default)
