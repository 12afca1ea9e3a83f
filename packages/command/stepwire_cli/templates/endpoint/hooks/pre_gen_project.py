"""Refuse names of which no folder or stack can be made."""

import json
import re
import sys

ANSWERS = {
    "project_name": r""" {{ cookiecutter.project_name | tojson }} """,
    "stack_name": r""" {{ cookiecutter.stack_name | tojson }} """,
}
SHAPES = {
    "project_name": (r"[A-Za-z][A-Za-z0-9_-]{0,63}", "up to 64 letters, digits, - and _, with a letter first"),
    "stack_name": (r"[A-Za-z][A-Za-z0-9-]{0,127}", "up to 128 letters, digits and -, with a letter first"),
}

for name, answer in ANSWERS.items():
    text, (pattern, right) = json.loads(answer), SHAPES[name]
    if not re.fullmatch(pattern, text):
        sys.exit(f"{name}: {text[:100]!r} cannot be used: write {right}.")
