"""Print a SAM template as CloudFormation, in which cfn-lint finds more than in SAM's shorthand.

    python -m tests.template.translated template.yaml [--unconditional]

It contains the definitions of the workflows as one text each: cfn-lint checks them in that form.
"""

import json
import sys
from pathlib import Path
from typing import Any, TypeGuard, cast

from stepwire_local.cloudformation.template import load


def translated(path: Path, *, is_unconditional: bool = False) -> str:
    """Translate the template.

    Args:
        path: the template.
        is_unconditional: whether resources lose their conditions; checkov passes over those that parameters leave out.
    """
    body = load(path, {}).body
    for one in body["Resources"].values() if is_unconditional else ():
        one.pop("Condition", None)
    return json.dumps(_with_joined_text(body), indent=2, default=str)


def _with_joined_text(value: Any) -> Any:
    match value:
        case {"Fn::Join": [str(separator), parts]} if _are_texts(parts):
            # A value for the substitutions, because cfn-lint needs complete ARNs.
            return separator.join(parts).replace("${Partition}", "aws")
        case dict():
            return {key: _with_joined_text(part) for key, part in cast(dict[str, Any], value).items()}
        case list():
            return [_with_joined_text(part) for part in cast(list[Any], value)]
        case _:
            return value


def _are_texts(parts: Any) -> TypeGuard[list[str]]:
    return isinstance(parts, list) and all(isinstance(part, str) for part in cast(list[Any], parts))


if __name__ == "__main__":
    sys.stdout.write(translated(Path(sys.argv[1]), is_unconditional="--unconditional" in sys.argv[2:]))
