"""Reading YAML that others wrote: to a JSON value, or refused with its line.

The rule: a text whose meaning would be lost or misunderstood as JSON is refused, and so is one that stands for more
than it says. Never runs in a function that a client waits for.
"""

import re
from contextlib import suppress
from typing import Any, ClassVar, Final, cast

import yaml

from stepwire.errors import CatalogError
from stepwire.json_text import Json, JsonTextError, parse, write

_TAG: Final = re.compile(r"constructor for the tag '(?P<tag>![^']*)'")


class _Loader(yaml.SafeLoader):
    """Reads YAML, and refuses what would be lost: the first of a key given twice, the text of a date."""

    # Its own: where the SAM translator has run, PyYAML's SafeLoader has learnt the tags of CloudFormation from it.
    yaml_multi_constructors: ClassVar[dict[str | None, Any]] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse aliases: a few lines of them stand for gigabytes."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(
                problem="aliases (*name) are not supported: write the value out",
                problem_mark=cast(Any, self).peek_event().start_mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Build a mapping whose keys are all different."""
        known: list[Any] = []
        for key, _ in node.value:
            if key.value in known:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                )
            known.append(key.value)
        return super().construct_mapping(node, deep)

    def refuse_date(self, node: yaml.ScalarNode) -> None:
        """JSON has no dates, and what was meant is a text."""
        raise yaml.constructor.ConstructorError(
            problem=f"{node.value} is read as a date: put it in quotes", problem_mark=node.start_mark
        )


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.refuse_date)


def read_yaml(text: str) -> Json:
    """Return the value of a YAML text.

    Raises:
        CatalogError: it is empty, no YAML, or holds what JSON has no form for.
    """
    document = _loaded(text)
    if document is None:
        raise CatalogError("the file is empty: write the tool's fields, `name: ...` first")
    try:
        return parse(write(document))
    except RecursionError:
        raise CatalogError("nested too deeply") from None
    except TypeError:  # a set, or binary data
        raise CatalogError("a value has a type that JSON does not have: write it as a text, in quotes") from None
    except JsonTextError as error:
        raise CatalogError(f"no JSON: {error}") from None
    except ValueError:
        raise CatalogError("a number is not finite (.nan, .inf): write it as a text, in quotes") from None


def _loaded(text: str) -> Any:
    if text.lstrip().startswith("{"):
        # YAML is a superset of JSON but for the halves of a character with which JSON escapes what is beyond U+FFFF.
        with suppress(JsonTextError):
            return parse(text)
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise CatalogError(_yaml_fault(error)) from None
    except RecursionError:
        raise CatalogError("nested too deeply") from None
    except ArithmeticError:  # PyYAML reads 1:30:00 in base 60, and hundreds of parts are beyond what a float holds
        raise CatalogError("a number is too large: write it as a text, in quotes") from None
    except (LookupError, TypeError, ValueError):  # PyYAML's own, for a tag such as !!int or !!bool before what is none
        raise CatalogError("a value is not what its tag (!!...) says") from None


def _yaml_fault(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), str(getattr(error, "problem", None) or "bad YAML")
    if (tag := _TAG.search(problem)) is not None:
        problem = (
            f"the tag {tag['tag']} means nothing here: write the name itself, or quote a text that begins with '!'"
        )
    elif "mapping values are not allowed" in problem:
        problem = f"{problem}: quote texts with a colon"
    return f"line {mark.line + 1 if mark else '?'}: {problem}"
