"""What a person typed into a form that had expired: their browser keeps it until they have signed in again.

The rule: it is for the person whose form it was, and for this question. It is sealed, in a cookie of this origin that
no script reads, and it ends with the sign-in, after ten minutes at the latest. Nothing of it is stored here.
"""

from collections.abc import Mapping
from typing import Final, cast

from msgspec import Struct, ValidationError

from stepwire.codec import value_of
from stepwire.extras.approvals.page.forms import Typed
from stepwire.extras.approvals.page.links import Link, Secrets, opened
from stepwire.extras.approvals.page.sealed import Purpose, seal
from stepwire.extras.approvals.page.signing_in import LONGEST_SIGN_IN
from stepwire.json_text import Json

COOKIE: Final = "__Host-stepwire-typed"
FORGET: Final = f"{COOKIE}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax"
_LARGEST: Final = 4_096 - len(f"{COOKIE}=")  # bytes that browsers keep of a cookie, and `unseal` opens


class Draft(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A form as its person left it."""

    question: str
    """The digest of what the link says."""
    person: str
    given: Typed


def cookie_of(draft: Draft, secret: bytes) -> str | None:
    """Return the cookie that keeps a draft; None: it is too large for one."""
    written: list[Json] = [draft.question, draft.person, cast(Json, draft.given)]
    text = seal(written, Purpose.APPROVAL_DRAFT, secret)
    lasts = int(LONGEST_SIGN_IN.total_seconds())
    cookie = f"{COOKIE}={text}; Path=/; Max-Age={lasts}; Secure; HttpOnly; SameSite=Lax"
    return cookie if len(text) <= _LARGEST else None


def draft_in(cookies: Mapping[str, str], link: Link, secrets: Secrets) -> Draft | None:
    """Return the draft that a browser keeps for the question of a link; None: it keeps none."""
    if COOKIE not in cookies:
        return None  # no secret is asked for
    try:
        found = value_of(opened(cookies[COOKIE], Purpose.APPROVAL_DRAFT, secrets), Draft)
    except ValidationError:
        return None
    return found if found.question == link.person else None
