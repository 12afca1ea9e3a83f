"""What the code of a function reads of its event, so that a made-up event has it.

The rule: the command `stepwire` parses the code, which is never run for this. It is optional: without it, code says
nothing.
"""

from stepwire_local.lambdas.invocations import FunctionSettings
from stepwire_local.survey.shapes import Shape

_EACH = "[]"  # the step of a path into a list


def mark_reads(settings: FunctionSettings, event: Shape) -> None:
    """Let an event have what the code of a function in Python relies on."""
    try:
        from stepwire_wrap.code.reading import Files, handler_in  # noqa: PLC0415 - it is optional
    except ImportError:
        return
    module, _, name = settings.handler.rpartition(".")
    file = settings.folder / f"{module.replace('.', '/')}.py"
    handler = handler_in(file, name, Files(settings.folder, settings.folder)) if file.is_file() else None
    for one in () if handler is None else handler.reads:
        if not one.path or one.use.tested or one.use.default or one.use.passed_on:
            continue
        part = event
        for step in one.path:
            part = part.item() if step == _EACH else part.member(step)
        part.be_one_of(one.use.types)
