"""Change a YAML or JSON text at the places that its parser names, and leave every other byte as it is.

The rule: a comment, a quote, a tag such as `!Sub` and the order of members are their owner's. So nothing is written out
anew, as a library would that keeps comments: ruamel.yaml sets its own indents, quotes and line widths in all lines.
A member is put behind the last one of its mapping, in the style of that mapping, or takes the place of another.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

from stepwire.json_text import as_object
from stepwire_wrap.files.texts import Unreadable, parsed

_COMMENTS_BEFORE: Final = re.compile(r"(?:^#[^\n]*\n)*\Z", re.MULTILINE)
Node: TypeAlias = yaml.Node
MappingNode: TypeAlias = yaml.MappingNode


@dataclass(frozen=True)
class Edit:
    """Text that takes the place of a part of another."""

    start: int
    end: int
    text: str


class Text:
    """A YAML or JSON text with the places of its parts.

    Raises:
        Unreadable: its form is none that can be changed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        try:
            root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, RecursionError):
            root = None
        if not isinstance(root, MappingNode):
            raise Unreadable("its form is none that can be changed")
        self.root: MappingNode = root

    def with_member(self, mapping: MappingNode, member: str, after: Node | None = None) -> Edit:
        """Put a member behind the last one of a mapping, or behind another.

        Args:
            mapping: the mapping; it has a member, or is in flow style.
            member: `key: value`, in YAML's block style.
            after: the value of the member behind which it comes.
        """
        if mapping.flow_style:
            inside = json.dumps(parsed(member, is_json=False), indent=2)[1:-1]
            return self._in_flow(mapping, inside, after or (mapping.value[-1][1] if mapping.value else None))
        return self._in_block(mapping.start_mark.column, after or mapping.value[-1][1], member)

    def with_item(self, items: yaml.SequenceNode, item: str) -> Edit:
        """Put an item (`- value`, in YAML's block style) behind the last one of a list."""
        last: Node | None = items.value[-1] if items.value else None
        if items.flow_style or last is None:
            return self._in_flow(items, json.dumps(parsed(item, is_json=False), indent=2)[1:-1], last)
        return self._in_block(items.start_mark.column, last, item)

    def with_section(self, member: str, before: str) -> Edit:
        """Put a member of the whole text before another one, and before its comments."""
        if self.root.flow_style:
            return self.with_member(self.root, member)
        key = next(one for one, _ in self.root.value if one.value == before)
        at = key.start_mark.index
        found = _COMMENTS_BEFORE.search(self.text[:at].replace("\r\n", "\n"))
        comments = found[0] if found is not None else ""
        start = at - len(comments) - (comments.count("\n") if self._line_end == "\r\n" else 0)
        return Edit(start, start, self._lines(f"{member.rstrip()}\n\n", 0))

    def instead(self, mapping: MappingNode, key: str, member: str) -> Edit:
        """Put a member in the place of another one of the same name."""
        name, value = next((name, value) for name, value in mapping.value if name.value == key)
        if mapping.flow_style:
            (made,) = as_object(parsed(member, is_json=False)).values()
            indent = " " * _indent_of(self.text, name.start_mark.index)
            text = json.dumps(made, indent=2).replace("\n", f"\n{indent}")
            return Edit(value.start_mark.index, value.end_mark.index, text.replace("\n", self._line_end))
        text = self._lines(member, name.start_mark.column)[name.start_mark.column :]
        return Edit(name.start_mark.index, _end_of(self.text, value), text.rstrip("\r\n"))

    def instead_of_block(self, scalar: yaml.ScalarNode, content: str) -> Edit:
        """Put a content in the place of that of a literal block (`|`)."""
        start = self.text.index("\n", scalar.start_mark.index) + 1
        first = next(line for line in self.text[start:].splitlines() if line.strip())
        indent = len(first) - len(first.lstrip(" "))
        return Edit(start, _end_of(self.text, scalar), self._lines(content, indent).rstrip("\r\n"))

    def changed(self, edits: Iterable[Edit]) -> str:
        """Return the text with edits, of which those at one place keep their order."""
        text = self.text
        ordered = sorted(enumerate(edits), key=lambda one: (one[1].start, one[0]), reverse=True)
        for _, one in ordered:
            text = f"{text[: one.start]}{one.text}{text[one.end :]}"
        return text

    def _in_block(self, column: int, last: Node, added: str) -> Edit:
        """Add lines behind the line on which a value ends."""
        end = self.text.find("\n", _end_of(self.text, last))
        lines = self._lines(added, column)
        if end < 0:
            return Edit(len(self.text), len(self.text), f"{self._line_end}{lines}")
        return Edit(end + 1, end + 1, lines)

    def _in_flow(self, node: Node, added: str, last: Node | None) -> Edit:
        """Add JSON, in lines with an indent, behind the last value; on lines of their own if the others are."""
        on_one_line = " ".join(line.strip() for line in added.strip().splitlines())
        if last is None:
            at = node.end_mark.index - 1
            return Edit(at, at, on_one_line)
        at = last.end_mark.index
        first = node.value[0][0] if isinstance(node, MappingNode) else node.value[0]
        if first.start_mark.line == node.start_mark.line:
            return Edit(at, at, f", {on_one_line}")
        lines = self._lines(textwrap.dedent(added.strip("\n")), first.start_mark.column).rstrip("\r\n")
        return Edit(at, at, f",{self._line_end}{lines}")

    def _lines(self, text: str, column: int) -> str:
        """Return lines with an indent, each with the text's own line end."""
        lines = text if text.endswith("\n") else f"{text}\n"
        return textwrap.indent(lines, " " * column).replace("\n", self._line_end)


def member(node: Node | None, *names: str) -> Node | None:
    """Return a value in mappings, by the names that lead to it."""
    for name in names:
        if not isinstance(node, MappingNode):
            return None
        node = next((value for key, value in node.value if key.value == name), None)
    return node


def called_states(node: Node, name: str) -> Iterator[MappingNode]:
    """Yield each mapping that is called `States` and has a member of this name, however deep."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(value, MappingNode) and key.value == "States" and member(value, name) is not None:
                yield value
            yield from called_states(value, name)
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from called_states(one, name)


def _indent_of(text: str, at: int) -> int:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return len(line) - len(line.lstrip(" "))


def _end_of(text: str, node: Node) -> int:
    """Return where the text of a value ends, before the comments and the empty lines behind it."""
    if isinstance(node, yaml.MappingNode | yaml.SequenceNode):
        if node.flow_style or not node.value:
            return node.end_mark.index
        last = node.value[-1]
        return _end_of(text, last[1] if isinstance(node, MappingNode) else last)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return len(text[: node.end_mark.index].rstrip())
    return node.end_mark.index
