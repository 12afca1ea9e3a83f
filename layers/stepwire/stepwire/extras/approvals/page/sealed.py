"""Sealed tokens: what approvers and their browsers keep for the endpoint, and cannot read, change or make.

The library cryptography encrypts them, by AES-SIV (RFC 5297) with a key for each purpose (HKDF, RFC 5869). SIV needs no
nonce: of the same value, the same token is made, so a link that is sent again is the same link. The library is loaded
with the first token, because function status_changes makes links for few changes, and only if an operator wants them.
"""

from enum import Enum
from typing import TYPE_CHECKING, Final

from stepwire.json_text import Json, load_json, write
from stepwire.protocol.tokens import decode, encode

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

LONGEST_SEALED: Final = 4_096  # characters
_KEY_BYTES: Final = 64  # of AES-256-SIV, which has two keys


class Purpose(Enum):
    """What a sealed token is for; it opens for nothing else."""

    APPROVAL_LINK = "stepwire approval link 2"
    APPROVAL_SIGN_IN = "stepwire approval sign-in 2"
    APPROVAL_FORM = "stepwire approval form 2"
    APPROVAL_DRAFT = "stepwire approval draft 2"


def seal(value: Json, purpose: Purpose, secret: bytes) -> str:
    """Return a value as a token that nobody else can read, change or make; of the same value, the same token."""
    return encode(_cipher(purpose, secret).encrypt(write(value).encode(), None))


def unseal(token: str, purpose: Purpose, secret: bytes) -> Json:
    """Return what was sealed for a purpose with this secret; None if the text is no such token."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - see above

    try:
        octets = decode(token) if len(token) <= LONGEST_SEALED else b""
        if encode(octets) != token:  # the same octets, written in another way
            return None
        return load_json(_cipher(purpose, secret).decrypt(octets, None).decode())
    except (ValueError, InvalidTag):  # no base64, or nothing that was sealed so
        return None


def _cipher(purpose: Purpose, secret: bytes) -> "AESSIV":
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    return AESSIV(HKDF(SHA256(), _KEY_BYTES, salt=None, info=purpose.value.encode()).derive(secret))
