"""The operator's issuer, asked over HTTPS: where it signs people in, and for the token of a code.

The rule: only URLs of the issuer's own metadata are asked, as `issuer_documents` asks.
"""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from stepwire.aws.issuer_documents import Unanswered, checked_url, metadata_of, read_document
from stepwire.extras.approvals.page.signing_in import Endpoints, IssuerUnavailable, SignInRefused

_KEPT_FOR: Final = 3600.0  # seconds
_REFUSED: Final = 400


class HttpsIssuer(Struct):
    """An issuer with OIDC metadata, as the endpoint's JWT authorizer needs it, too."""

    url: str
    _endpoints: Endpoints | None = None
    _read_at: float = 0.0

    def endpoints(self) -> Endpoints:
        """Return where it is asked; its metadata are read once an hour.

        Raises:
            IssuerUnavailable: it does not say.
        """
        if self._endpoints is None or time.monotonic() - self._read_at > _KEPT_FOR:
            with _answering():
                document = metadata_of(self.url)
                endpoints = (document.get("authorization_endpoint"), document.get("token_endpoint"))
                self._endpoints = Endpoints(*(checked_url(one, self.url) for one in endpoints))
            self._read_at = time.monotonic()
        return self._endpoints

    def access_token(self, form: Mapping[str, str]) -> str:
        """Return the access token for a grant of a public client.

        Raises:
            IssuerUnavailable: no answer.
            SignInRefused: the issuer refuses the grant.
        """
        place = self.endpoints().token
        try:
            with _answering():
                token = read_document(place, self.url, urlencode(form).encode()).get("access_token")
        except IssuerUnavailable as error:
            if isinstance(error.__cause__, Unanswered) and error.__cause__.status == _REFUSED:
                raise SignInRefused("The issuer does not take the code, which is of use only once.") from None
            raise
        if not isinstance(token, str):
            raise IssuerUnavailable("it answers without an access token")
        return token


@contextmanager
def _answering() -> Generator[None]:
    try:
        yield
    except Unanswered as error:
        raise IssuerUnavailable(str(error)) from error
