"""What the code of a function reads of its event, so that a made-up event has it.

The rule: the code is parsed, and never run for this. Code that cannot be parsed here says nothing.
"""

from stepwire_local.lambdas.invocations import FunctionSettings
from stepwire_local.survey.shapes import Shape
from stepwire_wrap.code.reading import Files, handler_in
from stepwire_wrap.definitions.values import EACH
from stepwire_wrap.files.functions import entry_at


def mark_reads(settings: FunctionSettings, event: Shape) -> None:
    """Let an event have what the code of a function relies on."""
    entry = entry_at(settings.folder, settings.handler)
    if entry is None:
        return
    files = Files(entry.root, settings.folder)
    handler = handler_in(entry.file, entry.function, files, suffix=entry.suffix)
    for one in () if handler is None else handler.reads:
        if not one.path or one.use.tested or one.use.default or one.use.passed_on:
            continue
        part = event
        for step in one.path:
            part = part.item() if step == EACH else part.member(step)
        part.be_one_of(one.use.types)
