"""The field of a manifest that turns off its cards."""

from typing import Final

from msgspec import Struct

from stepwire.hooks import ManifestFields
from stepwire.manifests.manifest import Manifest


class Card(Struct, frozen=True):
    """What a tool keeps of it."""

    is_shown: bool


class ManifestWithCard(Manifest):
    """A manifest that says whether its tool has cards."""

    card: bool = True
    """`false`: hosts with MCP Apps show [no card](extras/cards.md) of the tool's tasks."""


FIELDS: Final = ManifestFields(
    model=ManifestWithCard, part=lambda manifest: None if manifest.card else Card(is_shown=False)
)
