"""Pictures of the console and of the card in it, in light and dark, from a refund that asks its question."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from stepwire_local import LocalStack
from stepwire_local.console import Console, Watchers
from tests.browser.chromium import seen_by_chromium

_ROOT: Final = Path(__file__).parents[2]
_SIZE: Final = {"width": 1280, "height": 820}
_THEMES: Final = ("light", "dark")
_REFUND: Final = [
    ["order_id", "A-1002"],
    ["amount", "100.00"],
    ["currency", {"option": "EUR"}],
    ["reason", "The chair wobbles."],
]
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def make(folder: Path) -> Sequence[Path]:
    """Make the pictures; return their files."""
    stack = LocalStack(_ROOT / "stack.yaml", others=[_ROOT / "examples/template.yaml"])
    console = Console(stack)
    stack.watcher, stack.front = Watchers(console), console.in_front_of
    paths = [folder / f"{name}-{theme}.png" for name in ("console", "card") for theme in _THEMES]
    with stack:
        for theme in _THEMES:
            plan = {"page": f"{stack.base_url}/", "size": _SIZE, "theme": theme, "steps": _steps(folder, theme)}
            found: Any = seen_by_chromium("console.mjs", plan)
            assert found["errors"] == [], found["errors"]
    for path in paths:
        path.write_bytes(smaller(path.read_bytes()))
    return paths


def _steps(folder: Path, theme: str) -> list[list[Any]]:
    return [
        ["start", "Profile a CSV dataset", [["csv", "species,island,mass\nAdelie,Torgersen,3750\nGentoo,Biscoe,\n"]]],
        ["status", "completed"],
        ["start", "Refund an order", _REFUND],
        ["state", "AskForApproval", "waiting"],
        ["status", "needs an answer"],
        ["choose", "AskForApproval"],
        ["top"],  # the chosen state has scrolled into view
        ["pause", 1500],  # the card polls, and the graph's transitions end
        ["picture", str(folder / f"console-{theme}.png")],
        ["picture", str(folder / f"card-{theme}.png"), ".side"],
    ]


def smaller(png: bytes) -> bytes:
    """Return the same picture, packed as tightly as zlib can, without what is not needed to show it."""
    chunks = list(_chunks(png))
    data = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    kept = [(kind, body) for kind, body in chunks if kind in (b"IHDR", b"PLTE", b"tRNS")]
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (*kept, (b"IDAT", zlib.compress(data, 9)), (b"IEND", b""))
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12
