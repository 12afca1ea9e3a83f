"""The composition root of function blocks, with which an operator blocks callers.

Whoever may invoke it may block and unblock, and nothing else: it can neither read nor change what a caller has.

{"block": [hash, ...], "operator"?: ARN} and {"unblock": [hash, ...], "operator"?: ARN}
{"blocked": bool, "hashes": [hash, ...], "were_blocked"?: [hash, ...], "holds_within_seconds": int}
or {"refused": reason}; `were_blocked` is in the answer to unblock
"""

import os
from functools import cached_property
from typing import Any, Final

from stepwire.audit import AuditAction, AuditEntry
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import patient_dynamodb_client
from stepwire.aws.invocations import SystemClock, builds_once
from stepwire.aws.settings import required
from stepwire.aws.storage.blocks import DynamoDbBlocks
from stepwire.aws.storage.table import Table
from stepwire.engine.blocks import MOST_BLOCKED, REREAD_AFTER
from stepwire.json_text import as_list, as_object
from stepwire.principal import PRINCIPAL_PATTERN, Principal

MOST_AT_ONCE: Final = 10
"""Hashes of one command."""
_MALFORMED: Final = f"A command has one of block and unblock, with 1 to {MOST_AT_ONCE} hashes of 32 hexadecimal digits."
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
        for word, action in _ACTIONS.items():
            hashes = [str(one) for one in as_list(command.get(word))]
            if 0 < len(hashes) <= MOST_AT_ONCE and all(map(PRINCIPAL_PATTERN.fullmatch, hashes)):
                return self._obeyed(action, hashes, command.get("operator"))
        return {"refused": _MALFORMED}

    def _obeyed(self, action: AuditAction, hashes: list[str], operator: str | None) -> dict[str, Any]:
        were_blocked = list[str]()
        for one in map(Principal, hashes):
            if action is AuditAction.UNBLOCKED:
                were_blocked += [one] if self._blocks.unblock(one) else []
            elif not self._blocks.block(one, operator, SystemClock().now()):
                return {"refused": _FULL}
            write_audit_entry(AuditEntry(action, one, operator=operator))
        return {
            "blocked": action is AuditAction.BLOCKED,
            "hashes": hashes,
            **({"were_blocked": were_blocked} if action is AuditAction.UNBLOCKED else {}),
            "holds_within_seconds": int(REREAD_AFTER.total_seconds()),
        }

    @cached_property
    def _blocks(self) -> DynamoDbBlocks:
        return DynamoDbBlocks(Table(required(os.environ, "TABLE_NAME"), patient_dynamodb_client))
