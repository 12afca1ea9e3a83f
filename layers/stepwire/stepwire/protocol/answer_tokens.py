"""Tokens that let a card answer one question of a task: a MAC, so the server stores none.

A token is bound to the caller, the task and the key of the question. Keys are used once in the life of a task, and a
question is answered once; so is a token of use only once.
"""

import hashlib
import hmac
from typing import Final

from stepwire.protocol.opaque import encode

_PURPOSE: Final = "stepwire card answer 1"


def token_of(owner: str, task_id: str, key: str, secret: bytes) -> str:
    """Return the token for a question, signed with the secret: 43 characters."""
    # None of the parts has a line break.
    return encode(hmac.digest(secret, "\n".join((_PURPOSE, owner, task_id, key)).encode(), hashlib.sha256))


def is_token(token: str, owner: str, task_id: str, key: str, secret: bytes) -> bool:
    """Tell whether a text is the token for a question, signed with this secret."""
    return hmac.compare_digest(token.encode(errors="replace"), token_of(owner, task_id, key, secret).encode())
