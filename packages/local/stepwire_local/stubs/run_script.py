"""Run a stub's script in a process of its own: read a call from stdin, write what came of it to stdout, both JSON.

Imports only the standard library: it must start fast, and nothing of this project may stand in a script's way. What
the script prints goes to stderr.
"""

import inspect
import json
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENTRY = "answer"


def main() -> None:
    """Answer one call."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as reply:
        os.dup2(2, 1)
        reply.write(_outcome(Path(sys.argv[1]), json.load(sys.stdin)))


def _outcome(script: Path, call: dict[str, Any]) -> str:
    try:
        sys.path.insert(0, str(script.parent))
        answer = runpy.run_path(str(script), run_name="stub")[ENTRY]
    except BaseException as error:  # noqa: BLE001  # whatever it was, the stack tells of it
        traceback.print_exc()
        return json.dumps({"unusable": f"cannot be loaded: {_words(error)}"})
    try:
        value = answer(*_arguments(answer, call))
    except BaseException as error:  # noqa: BLE001  # whatever it was, it is the state's error
        traceback.print_exc()
        return json.dumps({"error": str(getattr(error, "error", type(error).__name__)), "cause": str(error)})
    try:
        return json.dumps({"reply": value}, allow_nan=False)
    except (TypeError, ValueError) as error:
        return json.dumps({"unusable": f"returned what is not JSON: {error}"})


def _arguments(answer: Callable[..., Any], call: dict[str, Any]) -> list[Any]:
    given = [call["input"], call["context"]]
    return given[: len(inspect.signature(answer).parameters)]


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
