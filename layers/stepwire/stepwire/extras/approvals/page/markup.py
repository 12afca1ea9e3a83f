"""HTML, made so that a text cannot become markup, and how it looks.

Whatever is not `Markup` is escaped where it is put in. Invisible characters are shown as escapes, but for those in what
the page's own reader has typed (`verbatim`).

One style sheet is in the page itself, allowed by its digest; its colours are those of the card.
"""

import base64
import hashlib
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


_Attribute: TypeAlias = str | bool | None
Node: TypeAlias = "str | Iterable[Node] | None"
"""A text, markup, nothing, or several."""


def h(tag: str, /, *children: Node, **attributes: _Attribute) -> Markup:
    """Return an element.

    Of an attribute's name, an underscore at the end falls away and others become hyphens. True has no value; False and
    None leave the attribute out.
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    return Markup(f"<{tag}{written}>" if tag in _VOID else f"<{tag}{written}>{_inner(children)}</{tag}>")


def verbatim(text: str) -> Markup:
    """Return a text with its invisible characters as they are: only for what its reader has typed, to be sent again."""
    return Markup(escape(text))


def _attribute(name: str, value: _Attribute) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{_inner(value)}"'


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


# ---------------------------------------------------------------------------------------------------------------- looks

STYLE: Final = """
:root {
  color-scheme: light dark;
  --back: light-dark(#f6f5f2, #171716); --page: light-dark(#fff, #1f1f1e); --raised: light-dark(#f6f5f2, #2a2a28);
  --text: light-dark(#1b1b19, #f2f1ee); --quiet: light-dark(#5c5b57, #b3b1aa); --line: light-dark(#e3e2dd, #3a3a38);
  --edge: light-dark(#75746f, #a09f9b); --ring: light-dark(#2f6fb8, #7ab3ee);
  --tone: light-dark(#5c5b57, #b3b1aa); --tint: light-dark(#f6f5f2, #2a2a28); --danger: light-dark(#a4262c, #f5a5a0);
}
.waits { --tone: light-dark(#7a4b00, #f2c46d); --tint: light-dark(#fdf2dc, #3d2e10); }
.approved { --tone: light-dark(#1d6a3a, #8ed6a5); --tint: light-dark(#e3f4e8, #16351f); }
.refused, .fault { --tone: light-dark(#a4262c, #f5a5a0); --tint: light-dark(#fbe9e8, #43201f); }
html { scroll-padding-bottom: 84px; }
* { box-sizing: border-box; margin: 0; padding: 0; min-width: 0; }
body {
  min-height: 100vh; padding: 24px 16px; background: var(--back); color: var(--text); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, Arial, "Hiragino Sans", "Noto Sans JP", sans-serif;
}
header, main { max-width: 680px; margin: 0 auto; }
header { margin-bottom: 12px; color: var(--quiet); font-size: 14px; }
main { display: grid; gap: 18px; padding: 22px; background: var(--page); }
main { border: 1px solid var(--line); border-radius: 12px; }
h1 { font-size: 20px; line-height: 1.3; font-weight: 600; }
h2, label, legend { font-size: 14px; font-weight: 600; }
.row { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; justify-content: space-between; }
.status, .note { color: var(--tone); background: var(--tint); font-weight: 500; }
.status { display: flex; align-items: center; gap: 7px; padding: 2px 10px; border-radius: 99px; font-size: 14px; }
.status::before { content: ""; width: 8px; height: 8px; border-radius: 50%; background: currentcolor; }
.note { padding: 10px 12px; border-radius: 8px; }
.says { white-space: pre-wrap; font-size: 17px; font-weight: 500; }
section, form, fieldset, .field { display: grid; gap: 6px; border: 0; }
section { gap: 8px; }
form, .fields { gap: 16px; }
.fields { display: grid; padding-top: 18px; border-top: 1px solid var(--line); }
.fields:empty { display: none; }
dl { display: grid; grid-template-columns: minmax(110px, max-content) 1fr; gap: 6px 20px; }
dt, .quiet, small { color: var(--quiet); font-size: 14px; font-weight: 400; }
dd { white-space: pre-wrap; }
.shown { max-height: 320px; overflow: auto; padding: 12px; background: var(--raised); }
.shown { border: 1px solid var(--line); border-radius: 8px; }
.wrong { color: var(--danger); font-weight: 500; }
.choice { display: flex; gap: 10px; align-items: baseline; font-weight: 400; font-size: 16px; padding: 4px 0; }
input, select, textarea, button, .button {
  font: inherit; color: var(--text); background: var(--page);
  border: 1px solid var(--edge); border-radius: 8px; min-height: 44px;
}
input, select, textarea { width: 100%; padding: 8px 12px; }
.choice input { flex: none; width: 18px; height: 18px; min-height: 0; translate: 0 3px; accent-color: var(--text); }
textarea { min-height: 96px; resize: vertical; }
[aria-invalid] { border-color: var(--danger); border-width: 2px; }
:focus-visible { outline: 3px solid var(--ring); outline-offset: 2px; }
.buttons { display: flex; flex-wrap: wrap; gap: 12px; position: sticky; bottom: 0; padding: 10px 0; }
.buttons { background: var(--page); border-top: 1px solid var(--line); }
.button { display: inline-block; }
button, .button { padding: 8px 22px; font-weight: 600; cursor: pointer; text-decoration: none; width: fit-content; }
.main { color: var(--page); background: var(--text); border-color: var(--text); }
.stop { color: var(--danger); border-color: var(--danger); }
button:hover, .button:hover { opacity: .85; }
@media (max-width: 480px) {
  main { padding: 18px 16px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { padding-bottom: 8px; }
  .buttons > * { flex: 1; }
}
"""
_DIGEST: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-robots-tag": "noindex, nofollow",
    "cross-origin-opener-policy": "same-origin",
}
"""Of every answer: no script, no frame, no copy, and no address in a Referer."""
