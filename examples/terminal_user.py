"""The user of the demo: a person at the terminal, or an automatic stand-in that accepts the suggested values.

The rule: answers conform to the form. A person is asked again until the answer does; the stand-in prints its answers,
so that nobody mistakes them for a person's. Whoever cancels a question ends its prompt: somebody else has answered it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TextIO, cast

import anyio
import anyio.to_thread
import jsonschema
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from rich.console import Console
from rich.markup import escape
from rich.prompt import Prompt

from examples.typed_lines import Prompts, TypedLines
from examples.waiting import Waiting

Json = Mapping[str, Any]
Content = dict[str, str | int | float | bool | list[str] | None]

_ACTIONS: Final = ("accept", "decline", "cancel")
_WORDS: Final = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


class User:
    """Answers elicitations, and remembers each answer."""

    def __init__(
        self,
        console: Console,
        status: Waiting,
        *,
        by_itself: bool,
        introduction: str = "",
        lines: TypedLines | None = None,
    ) -> None:
        self._introduction = introduction
        self._lines = lines or TypedLines()
        self._console = console
        self._status = status
        self._by_itself = by_itself
        self.asked = 0
        """How many questions were asked; an answer that somebody else gave is none of `answers`."""
        self.answers: list[ElicitResult] = []

    def somebody_else(self, introduction: str) -> "User":
        """Return another person at the same terminal, introduced before each question."""
        return User(
            self._console, self._status, by_itself=self._by_itself, introduction=introduction, lines=self._lines
        )

    def note(self, *lines: str) -> None:
        """Show lines that need no answer, unbroken, so that a link can be copied."""
        self._status.stop()
        for one in lines:
            self._console.print(one, markup=False, soft_wrap=True)
        self._status.start()

    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer an elicitation."""
        self.asked += 1
        self._status.stop()
        if self._introduction:
            self._console.print(f"\n{escape(self._introduction)}", end="")
        self._console.print(f"\n[bold yellow]?[/] [bold]{escape(params.message)}[/]")
        if isinstance(params, ElicitRequestURLParams):
            self._console.print(f"  {params.url}", markup=False)
        try:
            answer = self._stand_in(params) if self._by_itself else await self._typed(params)
        finally:
            self._console.print()
            self._status.update("waiting for the next poll")
            self._status.start()
        self.answers.append(answer)
        return answer

    async def _typed(self, params: ElicitRequestParams) -> ElicitResult:
        prompts = Prompts(self._lines)
        answering = partial(self._person, _fields_of(params), prompts)
        try:
            return await anyio.to_thread.run_sync(answering, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            prompts.end()
            raise

    def _stand_in(self, params: ElicitRequestParams) -> ElicitResult:
        if isinstance(params, ElicitRequestURLParams):
            self._console.print("  Closed without an answer: there is no user to open the page.")
            return ElicitResult(action="cancel")
        content = {name: field["default"] for name, field in _fields_of(params).items() if "default" in field}
        entered = ", ".join(f"{name} = {value}" for name, value in content.items())
        self._console.print(
            f"  Answered by itself, for nobody is asked: accept{', ' if entered else ''}{escape(entered)}"
        )
        return ElicitResult(action="accept", content=content)

    def _person(self, fields: Mapping[str, Json], prompts: Prompts) -> ElicitResult:
        stream = cast("TextIO", prompts)
        try:
            action = Prompt.ask(
                "  Your answer", console=self._console, choices=list(_ACTIONS), default="accept", stream=stream
            )
            if action != "accept":
                return ElicitResult(action="decline" if action == "decline" else "cancel")
            entered = {name: self._entry(name, field, stream) for name, field in fields.items()}
        except EOFError:  # Ctrl-D
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content={name: one for name, one in entered.items() if one is not None})

    def _entry(self, name: str, field: Json, stream: TextIO) -> Any:
        """Ask for one field until the value is valid; None for an optional field left empty."""
        title = f"  {escape(field.get('title', name))}"
        hint = f" [dim]- {escape(field['description'])}[/]" if "description" in field else ""
        while True:
            text = Prompt.ask(title + hint, console=self._console, default=_suggested(field), stream=stream).strip()
            if not text and not field["required"]:
                return None
            try:
                value = _READERS.get(field["type"], str)(text)
                jsonschema.validate(value, {key: value for key, value in field.items() if key != "required"})
            except (jsonschema.ValidationError, ValueError) as error:
                self._console.print(f"  {escape(str(getattr(error, 'message', error)))}", style="red")
            else:
                return value


def _fields_of(params: ElicitRequestParams) -> dict[str, Json]:
    """Return the fields of a form and whether each is required; a URL elicitation has none."""
    if not isinstance(params, ElicitRequestFormParams):
        return {}
    schema = params.requested_schema
    required = schema.get("required", ())
    return {name: {**field, "required": name in required} for name, field in schema["properties"].items()}


def _suggested(field: Json) -> Any:
    if "default" not in field:
        return ...  # rich's word for none
    default = field["default"]
    return ", ".join(cast("list[str]", default)) if isinstance(default, list) else str(default)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number.") from None
    return int(value) if value.is_integer() else value


def _boolean(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise ValueError("Enter yes or no.")
    return _WORDS[text.lower()]


def _choices(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "number": _number,
    "integer": _number,
    "boolean": _boolean,
    "array": _choices,
}
