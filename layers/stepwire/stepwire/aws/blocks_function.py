"""The composition root of function blocks, with which an operator blocks callers.

Whoever may invoke it may block and unblock, and nothing else: it can neither read nor change what a caller has.

{"block": [hash, ...], "reason"?: text, "operator"?: ARN} and {"unblock": [hash, ...], "operator"?: ARN}
{"blocked": bool, "hashes": [hash, ...], "were_blocked"?: [hash, ...], "holds_within_seconds": int}
or {"refused": reason}; `were_blocked` is in the answer to unblock
"""

import os
from functools import cached_property
from typing import Any, Final, TypeGuard

from stepwire.audit import AuditAction, AuditEntry
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import patient_dynamodb_client
from stepwire.aws.invocations import SystemClock, builds_once
from stepwire.aws.settings import required
from stepwire.aws.storage.blocks import Block, DynamoDbBlocks
from stepwire.aws.storage.table import Table
from stepwire.engine.blocks import MOST_BLOCKED, REREAD_AFTER
from stepwire.json_text import as_list, as_object
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.visible_text import first_invisible

MOST_AT_ONCE: Final = 10
"""Hashes of one command."""
_MALFORMED: Final = f"A command has one of block and unblock, with 1 to {MOST_AT_ONCE} hashes of 32 hexadecimal digits."
LONGEST_REASON: Final = 200  # characters
_WRONG_REASON: Final = f"A reason is a line of 1 to {LONGEST_REASON} visible characters."
_ACTIONS: Final = {"block": AuditAction.BLOCKED, "unblock": AuditAction.UNBLOCKED}
_FULL: Final = (
    f"{MOST_BLOCKED:,} callers are blocked, and no more can be. Unblock some, or remove their access at the issuer."
)


class BlocksHandler:
    """Handles function blocks."""

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Block or unblock callers; each is audited when it is done. Idempotent."""
        command = as_object(event.get("stepwire_command"))
        reason = command.get("reason")
        if reason is not None and not is_reason(reason):
            return {"refused": _WRONG_REASON}
        for word, action in _ACTIONS.items():
            hashes = [str(one) for one in as_list(command.get(word))]
            if 0 < len(hashes) <= MOST_AT_ONCE and all(map(PRINCIPAL_PATTERN.fullmatch, hashes)):
                return self._obeyed(action, hashes, command.get("operator"), reason)
        return {"refused": _MALFORMED}

    def _obeyed(
        self, action: AuditAction, hashes: list[str], operator: str | None, reason: str | None
    ) -> dict[str, Any]:
        were_blocked = list[str]()
        for one in map(Principal, hashes):
            if action is AuditAction.UNBLOCKED:
                were_blocked += [one] if self._blocks.unblock(one) else []
            elif not self._blocks.block(one, Block(SystemClock().now(), operator, reason)):
                return {"refused": _FULL}
            write_audit_entry(AuditEntry(action, one, outcome=reason, operator=operator))
        return {
            "blocked": action is AuditAction.BLOCKED,
            "hashes": hashes,
            **({"were_blocked": were_blocked} if action is AuditAction.UNBLOCKED else {}),
            "holds_within_seconds": int(REREAD_AFTER.total_seconds()),
        }

    @cached_property
    def _blocks(self) -> DynamoDbBlocks:
        return DynamoDbBlocks(Table(required(os.environ, "TABLE_NAME"), patient_dynamodb_client))


def is_reason(value: object) -> TypeGuard[str]:
    """Tell whether this may be the reason of a block."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_REASON and first_invisible(value) is None
