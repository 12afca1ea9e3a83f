"""What one place of the package alone does, is done nowhere else in it.

Read from the source, so that a second place is found even if no test runs it.
"""

import ast
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec import Struct

import stepwire
from stepwire.tasks.task import Task
from tests.extras import parts

SOURCE: Final = Path(stepwire.__file__).parent


class Call(NamedTuple):
    """A call in the source of the package."""

    file: str
    function: str
    """What is called: the last part of its name."""
    of: str
    """Whose method it is, or else its first argument: the last part of its name."""
    keywords: frozenset[str]


@cache
def calls() -> tuple[Call, ...]:
    return tuple(
        _call(file.relative_to(SOURCE).as_posix(), node)
        for file in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    )


def _call(file: str, node: ast.Call) -> Call:
    of = node.func.value if isinstance(node.func, ast.Attribute) else (*node.args, None)[0]
    keywords = frozenset(one.arg for one in node.keywords if one.arg is not None)
    return Call(file, _last_name(node.func), _last_name(of), keywords)


def _last_name(node: ast.expr | None) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


@cache
def structs() -> frozenset[type[Struct]]:
    for module in pkgutil.walk_packages(stepwire.__path__, "stepwire."):
        if not module.name.endswith(".app"):  # Lambda alone imports a handler
            importlib.import_module(module.name)
    return frozenset(one for one in _below(Struct) if one.__module__.startswith("stepwire."))


def _below(parent: type[Struct]) -> Iterator[type[Struct]]:
    for one in parent.__subclasses__():
        yield one
        yield from _below(one)


def derives_a_task(call: Call) -> bool:
    """Tell whether a call is `replace` of a task: of fields that a task has, and of nothing named as another type."""
    if call.function != "replace" or not call.keywords or not call.keywords <= set(Task.__struct_fields__):
        return False
    # By name: a test that imports the package anew leaves a second class of each.
    others = (one for one in structs() if one.__name__ != Task.__name__ and call.keywords <= set(one.__struct_fields__))
    return call.of not in {one.__name__.lower() for one in others}


def builds(*services: str) -> Callable[[Call], bool]:
    return lambda call: call.function in services


def calls_of(port: str, *methods: str) -> Callable[[Call], bool]:
    return lambda call: call.of == port and call.function in methods


SOLE: Final[dict[str, tuple[Callable[[Call], bool], set[str]]]] = {
    "executions are started, redriven and stopped by the runs": (
        calls_of("workflows", "start", "redrive", "stop"),
        {"engine/runs.py"},
    ),
    "changed tasks are saved by the recorder": (calls_of("store", "save"), {"engine/recorder.py"}),
    "wake-ups are scheduled by the runs, and by the turns that they use": (
        calls_of("wake_ups", "schedule"),
        {"engine/runs.py", *(file for part in parts("one_place") for file in part.SCHEDULES)},
    ),
    "the engine is built by the assembly": (
        builds("Recorder", "Runs", "Upkeep", "Operations", "Admission", "Calls", "Answers", "FollowUps"),
        {"engine/assembly.py"},
    ),
    "changed tasks are derived by the lifecycle, and by what writes nothing of its life": (
        derives_a_task,
        {"tasks/lifecycle.py", "engine/limiter.py", "aws/storage/task_store.py", "aws/storage/items.py"},
    ),
}
"""By the rule: the calls that it is about, and the only files with any."""
BESIDE_ITS_LIFE: Final = {
    "engine/limiter.py": {"usage_shard"},
    "aws/storage/task_store.py": {"version"},
    "aws/storage/items.py": {"work", "status"},
}
"""The fields of a task that are written outside its lifecycle (`stepwire/tasks/task.py`)."""


@pytest.mark.parametrize("rule", SOLE)
def test_what_one_place_does_is_done_nowhere_else(rule: str) -> None:
    is_meant, files = SOLE[rule]

    assert {call.file for call in calls() if is_meant(call)} == files


def test_whoever_else_derives_a_task_leaves_its_life_alone() -> None:
    written = {file: set[str]() for file in BESIDE_ITS_LIFE}

    for call in filter(derives_a_task, calls()):
        if call.file in written:
            written[call.file] |= call.keywords

    assert written == BESIDE_ITS_LIFE
