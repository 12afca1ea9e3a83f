"""The code of the functions that a state machine of a file calls, found and read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepwire_wrap.code.reading import Files, can_read, handler_in
from stepwire_wrap.definitions.handlers import Handler, functions_in
from stepwire_wrap.files.functions import Entry
from stepwire_wrap.files.loose import LooseCode
from stepwire_wrap.files.templates import FoundMachine

_MISSING: Final = (
    "functions in JavaScript and TypeScript are not read: install what parses them, "
    "`pip install 'stepwire-wrap[javascript]'`"
)


@dataclass
class Reader:
    """Reads the code of functions, each once."""

    _handlers: dict[tuple[Path, str, str | None], Handler | None] = field(
        default_factory=dict[tuple[Path, str, str | None], Handler | None]
    )
    _loose: dict[Path, LooseCode] = field(default_factory=dict[Path, LooseCode])
    problems: list[str] = field(default_factory=list[str])
    """What could be read if something was installed."""

    def handlers_of(self, found: FoundMachine) -> dict[str, Handler]:
        """Return what is known of the code of a state machine's functions, by what the definition names them."""
        texts = functions_in(found.definition)
        entries = {text: self._entry(found, text, texts) for text in texts}
        read = {text: self._read(entry, found) for text, entry in entries.items() if entry is not None}
        return {text: handler for text, handler in read.items() if handler is not None}

    def _entry(self, found: FoundMachine, text: str, texts: Sequence[str]) -> Entry | None:
        if found.template is not None:
            entry = found.template.function(text)
            if entry is not None or found.template.has_other(text):
                return entry
        entries = (self._code_beside(one).entry(text, texts) for one in found.projects)
        return next((one for one in entries if one is not None), None)

    def _code_beside(self, folder: Path) -> LooseCode:
        if folder not in self._loose:
            self._loose[folder] = LooseCode.of(folder)
        return self._loose[folder]

    def _read(self, entry: Entry, found: FoundMachine) -> Handler | None:
        if not can_read(entry.suffix):
            self.problems = [_MISSING]
            return None
        key = (entry.file.resolve(), entry.function, entry.text)
        if key not in self._handlers:
            files = Files(entry.root, found.project)
            self._handlers[key] = handler_in(entry.file, entry.function, files, entry.text, entry.suffix)
        return self._handlers[key]
