"""Reads YAML as CloudFormation does: templates, definitions of state machines, manifests in templates.

The rule: a date is the text that was written. JSON has no dates, and `Version: 2012-10-17` stands in every policy.
"""

from typing import Any, Final, cast

import yaml
from samtranslator import yaml_helper  # pyright: ignore[reportMissingTypeStubs]

_DATE: Final = "tag:yaml.org,2002:timestamp"

# libyaml parses ten times faster than PyYAML's own parser, which would take half of a stack's start. A class of its
# own, so that CloudFormation's short forms (`!Ref`, `!GetAtt`) are known to no other reader of YAML in this process.
_Loader: Any = type("_Loader", (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader,), {})
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _DATE]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
_Loader.add_multi_constructor("!", cast("Any", yaml_helper).intrinsics_multi_constructor)


def read_yaml(text: str) -> Any:
    """Return the value of a YAML text, which may be JSON, with intrinsic functions in their long form.

    Raises:
        yaml.YAMLError: it is not YAML.
        ValueError: a value is not what it looks like.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - it derives from a safe loader
    except (LookupError, TypeError, AttributeError, ArithmeticError):  # PyYAML's own, for !!int or !!bool before none
        raise ValueError("a value is not what its tag (!!...) says") from None
