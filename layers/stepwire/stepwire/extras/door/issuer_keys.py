"""The public keys of the operator's issuer, which are read seldom, whatever tokens ask for.

Keys are read again after two hours, as API Gateway reads them, and for a key that is not known, but not more often than
once a minute: a token is anybody's, and must not be able to send requests to the issuer. Where the issuer does not
answer, the keys that it last told are used for at most a day; without any, it is asked again after ten seconds, because
everybody is refused meanwhile.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from msgspec import Struct, field

from stepwire.aws.issuer_documents import Unanswered, metadata_of, read_document
from stepwire.extras.door.access_tokens import keys_in
from stepwire.json_text import JsonObject

_KEPT_FOR: Final = timedelta(hours=2)
_PAUSE: Final = timedelta(minutes=1)
_PAUSE_WITHOUT_KEYS: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(days=1)


def jwks_of(issuer: str) -> JsonObject:
    """Return the keys of an issuer as its metadata say where they are.

    Raises:
        Unanswered: it does not say.
    """
    return read_document(metadata_of(issuer).get("jwks_uri"), issuer)


class IssuerKeys(Struct):
    """The keys of one issuer."""

    url: str
    report: Callable[[Unanswered], None]
    """Receives the reason why keys could not be read."""
    read: Callable[[str], JsonObject] = jwks_of
    """Returns the JWKS of an issuer."""
    _keys: dict[str, RSAPublicKey] = field(default_factory=dict[str, RSAPublicKey])
    _read_at: datetime | None = None
    _asked_at: datetime | None = None

    def key_of(self, kid: str, at: datetime) -> RSAPublicKey | None:
        """Return the key of this id; None if the issuer has none, or does not say."""
        is_stale = self._read_at is None or at - self._read_at > _KEPT_FOR
        pause = _PAUSE if self._keys else _PAUSE_WITHOUT_KEYS
        if (is_stale or kid not in self._keys) and (self._asked_at is None or at - self._asked_at > pause):
            self._asked_at = at
            self._read(at)
        if self._read_at is None or at - self._read_at > _LONGEST:
            return None
        return self._keys.get(kid)

    def _read(self, at: datetime) -> None:
        try:
            self._keys, self._read_at = keys_in(self.read(self.url)), at
        except Unanswered as error:
            self.report(error)
