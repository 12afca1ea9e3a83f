"""HTML, made so that a text cannot become markup: whatever is not `Markup` is escaped where it is put in.

Invisible characters are shown as escapes, but for those in what the page's own reader has typed (`verbatim`).
"""

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

from stepwire.visible_text import visible

LINE_ENDS: Final = "\n\t\r"
"""The invisible characters that a text keeps."""
_VOID: Final = frozenset({"input", "meta"})


class Markup(str):
    """HTML that was made here."""

    __slots__ = ()


Node: TypeAlias = "str | Iterable[Node] | None"
"""A text, markup, nothing, or several."""


def h(tag: str, /, *children: Node, **attributes: str | bool | None) -> Markup:
    """Return an element.

    Of an attribute's name, an underscore at the end falls away and others become hyphens. True has no value; False and
    None leave the attribute out.
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    return Markup(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{_inner(children)}</{tag}>")


def verbatim(text: str) -> Markup:
    """Return a text with its invisible characters as they are: only for what its reader has typed, to be sent again."""
    return Markup(escape(text))


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return (
        f" {shown}" if value is True else f' {shown}="{value if isinstance(value, Markup) else _escaped(str(value))}"'
    )


def _inner(node: Node) -> str:
    match node:
        case None:
            return ""
        case Markup():
            return node
        case str():
            return _escaped(node)
        case _:
            return "".join(map(_inner, node))


def _escaped(text: str) -> str:
    return escape(visible(text, LINE_ENDS))
