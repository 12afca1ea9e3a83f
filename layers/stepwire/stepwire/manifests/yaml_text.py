"""Reading YAML that others wrote: to a JSON value, or refused with its line.

The rule for manifests: a text whose meaning would be lost or misunderstood as JSON is refused, and so is one that
stands for more than it says. A template is read as CloudFormation reads it. Never runs where a client waits for it.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar, Final, cast

import yaml

from stepwire.errors import CatalogError
from stepwire.json_text import Json, JsonTextError, parse, write

_TAG: Final = re.compile(r"constructor for the tag '(?P<tag>![^']*)'")
_NOT_AS_TAGGED: Final = "a value is not what its tag (!!...) says"
_NO_TEXT: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("bool", "float", "int", "null"))


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
        """Build a mapping whose keys are all different, and in JSON what they are here: no `on`, which is true."""
        known: list[Any] = []
        for key, _ in node.value:
            if key.tag in _NO_TEXT and str(cast(Any, self).construct_object(key)) != key.value:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} is no text in YAML: put it in quotes", problem_mark=key.start_mark
                )
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
        raise CatalogError(_NOT_AS_TAGGED) from None


def _yaml_fault(error: yaml.YAMLError) -> str:
    mark, problem = getattr(error, "problem_mark", None), str(getattr(error, "problem", None) or "bad YAML")
    if (tag := _TAG.search(problem)) is not None:
        problem = (
            f"the tag {tag['tag']} means nothing here: write the name itself, or quote a text that begins with '!'"
        )
    elif "mapping values are not allowed" in problem:
        problem = f"{problem}: quote texts with a colon"
    return f"line {mark.line + 1 if mark else '?'}: {problem}"


_MOST_VALUES: Final = 1_000_000
"""In a template whose aliases are written out."""
_DEEPEST: Final = 500

# libyaml is ten times as fast. A class of its own, so that no other reader learns CloudFormation's short forms.
_Template: Any = type("_Template", (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader,), {})


def _function(loader: Any, tag: str, node: yaml.Node) -> Json:
    name = tag if tag in ("Ref", "Condition") else f"Fn::{tag}"
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        return {name: value.split(".", 1) if tag == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True)}


def _plain(loader: Any, node: yaml.Node) -> Json:
    return loader.construct_scalar(node)


_Template.add_multi_constructor("!", _function)
_Template.add_constructor("tag:yaml.org,2002:timestamp", _plain)  # JSON has no dates, and every policy has a Version
_Template.add_constructor("tag:yaml.org,2002:value", _plain)


def read_template(text: str) -> Json:
    """Return the value of a YAML text, which may be JSON; the short forms of functions (`!Ref`) become the long ones.

    Raises:
        ValueError: it is no YAML; the message is one line that says where and why.
    """
    try:
        _check_depth(text)
        return _jsonable(yaml.load(text, _Template), iter(range(_MOST_VALUES)))  # noqa: S506 - it derives from a safe one
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ValueError(f"line {mark.line + 1 if mark else '?'}: {error.problem}") from None
    except (LookupError, TypeError, AttributeError, ArithmeticError):  # PyYAML's own, for !!int or !!bool before none
        raise ValueError(_NOT_AS_TAGGED) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None


def _check_depth(text: str) -> None:
    """Do nothing if a text is not too deep for libyaml, which would end the process.

    Raises:
        ValueError: it is.
    """
    depth = 0
    for event in yaml.parse(text, _Template):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} levels deep")


def _jsonable(value: Any, left: Iterator[int]) -> Json:
    """Return a value with texts as keys: YAML takes `On` and `1` for others. `left` has a number for each value in it.

    Raises:
        ValueError: there are more.
    """
    if next(left, None) is None:
        raise ValueError(f"its aliases (*name) stand for more than {_MOST_VALUES:,} values: write fewer")
    if isinstance(value, dict):
        return {_key(name): _jsonable(one, left) for name, one in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return [_jsonable(one, left) for one in cast(list[Any], value)]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _key(name: object) -> str:
    return {True: "On", False: "Off"}[name] if isinstance(name, bool) else str(name)
