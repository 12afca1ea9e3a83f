"""How calls with the dummy credentials are signed: their header says who calls what, and no signature is calculated.

Nobody here checks signatures, and to calculate one takes a tenth of the time of a simulated call. The rule: only calls
with the dummy credentials, and no presigned links, whose readers may look at the parts of their query.
"""

from datetime import UTC, datetime
from typing import Any, Final

from botocore import auth
from botocore.handlers import BUILTIN_HANDLERS

from stepwire_local.account.isolation import ACCESS_KEY

_NAME: Final = "v4-of-dummies"
_V4: Any = auth.SigV4Auth  # its types leave out what its subclasses override


class _NamesTheCaller(_V4):
    """Signature Version 4, but for the signature of the dummy credentials."""

    def add_auth(self: Any, request: Any) -> None:
        """Add the headers; with other credentials, those of a real signature."""
        if self.credentials is None or self.credentials.access_key != ACCESS_KEY:
            _V4.add_auth(self, request)
            return
        request.context["timestamp"] = datetime.now(UTC).strftime(auth.SIGV4_TIMESTAMP)
        self._modify_request_before_signing(request)
        scope = f"Credential={self.scope(request)}"
        request.headers["Authorization"] = f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=none"


def _choose(signature_version: object, **_: object) -> str | None:
    return _NAME if signature_version == "v4" else None


def sign_dummies_quickly() -> None:
    """Let every session that is made from now on sign so."""
    auth.AUTH_TYPE_MAPS[_NAME] = _NamesTheCaller
    BUILTIN_HANDLERS.append(("choose-signer", _choose))
