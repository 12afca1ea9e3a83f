"""Refuse answers of which no stack, tool or parameter can be made, as `stepwire new tool` does."""

import json
import re
import sys

ANSWERS = {
    "project_name": r""" {{ cookiecutter.project_name | tojson }} """,
    "tool_name": r""" {{ cookiecutter.tool_name | tojson }} """,
    "description": r""" {{ cookiecutter.description | tojson }} """,
    "endpoint_stack": r""" {{ cookiecutter.endpoint_stack | tojson }} """,
}
OWN = (
    *("approval_answer", "approvals_list", "call_tool", "card_answer", "card_cancel", "card_task", "find_tools"),
    *("task_answer", "task_cancel", "task_list", "task_result"),
)
SHAPES = {
    "project_name": (r"[A-Za-z][A-Za-z0-9_-]{0,63}", "up to 64 letters, digits, - and _, with a letter first"),
    "tool_name": (
        "(?!(" + "|".join(OWN) + r")\Z)[A-Za-z0-9_-]{1,64}",
        "up to 64 letters, digits, - and _, and no tool of Stepwire's own",
    ),
    "description": (r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+", "one line of text"),
    "endpoint_stack": (r"[A-Za-z][A-Za-z0-9-]{0,127}", "up to 128 letters, digits and -, with a letter first"),
}
LARGEST = 1_024  # bytes of the Description of a template

for name, answer in ANSWERS.items():
    text, (pattern, right) = json.loads(answer), SHAPES[name]
    if not re.fullmatch(pattern, text):
        sys.exit(f"{name}: {text[:100]!r} cannot be used: write {right}.")
    if len(text.encode()) > LARGEST:
        sys.exit(f"{name}: has {len(text.encode()):,} bytes, and a template takes {LARGEST:,}.")
