"""What operators command about callers: cancel their tasks, block and unblock them, and note an erasure.

Whoever may block can neither read nor change what a caller has. Erasing is done with an operator's own
credentials (`stepwire caller erase`), which notes it here, in the audit trail.
"""

from functools import partial
from typing import Annotated, Final, Literal, TypeGuard

from msgspec import Meta

from stepwire.audit import AuditEntry
from stepwire.background.commands import Command, Commands, Fields, Owner
from stepwire.engine.assembly import Engine
from stepwire.errors import CommandRefused
from stepwire.extras.callers.audit import BLOCKED, ERASED, UNBLOCKED
from stepwire.extras.callers.blocks import MOST_BLOCKED, REREAD_AFTER
from stepwire.extras.callers.storage import Block, DynamoDbBlocks
from stepwire.extras.callers.tasks import COMMANDS
from stepwire.json_text import JsonObject
from stepwire.visible_text import first_invisible

BLOCKS: Final = "blocks"
"""The right to block callers."""
ERASURES: Final = "erasures"
"""The right to note what was erased."""
MOST_AT_ONCE: Final = 10
"""Hashes of one command."""
LONGEST_REASON: Final = 200  # characters
_WRONG_REASON: Final = f"A reason is a line of 1 to {LONGEST_REASON} visible characters."
_FULL: Final = (
    f"{MOST_BLOCKED:,} callers are blocked, and no more can be. Unblock some, or remove their access at the issuer."
)


class OfCallers(Fields, frozen=True):
    """The fields of a command about callers."""

    hashes: Annotated[list[Owner], Meta(min_length=1, max_length=MOST_AT_ONCE)]


class ToBlock(OfCallers, frozen=True):
    """The fields of a command that blocks callers."""

    reason: str | None = None


class Erased(Fields, frozen=True):
    """The fields of a command that notes an erasure."""

    owner: Owner
    state: Literal["begins", "goes on", "done"]
    items: Annotated[int, Meta(ge=0)] = 0
    objects: Annotated[int, Meta(ge=0)] = 0


def commands_of(blocks: DynamoDbBlocks) -> Commands:
    """Return the commands, with those that change a list. Each is audited when it is done, and is idempotent."""
    return {
        **COMMANDS,
        "block": Command(BLOCKS, ToBlock, partial(_block, blocks)),
        "unblock": Command(BLOCKS, OfCallers, partial(_unblock, blocks)),
        "note_erasure": Command(ERASURES, Erased, _note_erasure),
    }


def _block(blocks: DynamoDbBlocks, engine: Engine, given: ToBlock) -> JsonObject:
    if given.reason is not None and not is_reason(given.reason):
        raise CommandRefused(_WRONG_REASON)
    for one in given.hashes:
        if not blocks.block(one, Block(engine.ports.clock.now(), given.operator, given.reason)):
            raise CommandRefused(_FULL)
        engine.ports.audit(AuditEntry(BLOCKED, one, outcome=given.reason, operator=given.operator))
    return {"hashes": given.hashes, "holds_within_seconds": int(REREAD_AFTER.total_seconds())}


def _unblock(blocks: DynamoDbBlocks, engine: Engine, given: OfCallers) -> JsonObject:
    were_blocked = list[str]()
    for one in given.hashes:
        were_blocked += [one] if blocks.unblock(one) else []
        engine.ports.audit(AuditEntry(UNBLOCKED, one, operator=given.operator))
    within = int(REREAD_AFTER.total_seconds())
    return {"hashes": given.hashes, "were_blocked": were_blocked, "holds_within_seconds": within}


def _note_erasure(engine: Engine, given: Erased) -> JsonObject:
    said = f"{given.items} items, {given.objects} large results; {given.state}"
    engine.ports.audit(AuditEntry(ERASED, given.owner, outcome=said, operator=given.operator))
    return {}


def is_reason(value: object) -> TypeGuard[str]:
    """Tell whether this may be the reason of a block."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_REASON and first_invisible(value) is None
