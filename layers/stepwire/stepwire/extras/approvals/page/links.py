"""The links to the page: each names one question and, if recipients are named, one of them, until a time.

A link is sealed: it shows neither the caller nor the task, and nobody can make one. Who has it, has one vote, because
the vote is the link's own: a digest of what it says stands for the person, also after the secret was rotated. With
sign-in, a link only names the question. The same question has the same links in each reminder.
"""

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, ValidationError

from stepwire.codec import value_of
from stepwire.extras.approvals.changes import ApprovalChange
from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.page.sealed import Purpose, seal, unseal
from stepwire.extras.approvals.rules import recipient_key
from stepwire.json_text import Json, JsonObject, write
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey

LONGEST_LIFE: Final = timedelta(days=30)
"""From when the question was asked; whether it is open, its task says."""
PATH: Final = "/approvals/"
_FOR_ALL: Final = -1

Secrets = Callable[[], Iterable[bytes]]
"""Yields the secrets that tokens may be sealed with, the current one first; later ones may cost a call."""


class LinkMode(Enum):
    """What a link is worth."""

    OFF = "off"
    """There are none."""
    LINK = "link"
    """Who has it votes."""
    SIGN_IN = "sign-in"
    """It names the question; who votes is who signs in."""


class Link(Struct, frozen=True):
    """What a link says."""

    key: QuestionKey
    recipient: int | None
    """Index of the one whom it was made for among the question's recipients; None: it is for all."""
    until: datetime
    needs_sign_in: bool

    @property
    def person(self) -> str:
        """The digest that stands for who votes with it."""
        said = ["link", self.key.task.owner, self.key.task.task_id, self.key.number, self.recipient]
        return hashlib.blake2b(write(said).encode(), digest_size=16, person=b"stepwire").hexdigest()


class _Written(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    owner: str
    task_id: str
    number: int
    recipient: int
    until: int
    """Seconds since 1970."""
    needs_sign_in: bool


class Links(Struct, frozen=True):
    """Makes the links of questions."""

    mode: LinkMode
    origin: str
    """Of the endpoint, such as `https://mcp.example.com`."""
    secret: Callable[[], bytes]

    def of(self, change: ApprovalChange) -> list[JsonObject]:
        """Return the links of an open question, as its event has them.

        [{"to": recipient or null, "url": text}]
        """
        policy = change.approval.policy
        if self.mode is LinkMode.OFF:
            return []
        if self.mode is LinkMode.SIGN_IN:
            return [self._shown(change, None, None)]
        if not policy.has_links:
            return []
        if policy.recipients:
            # A link knows nobody, so the caller gets none, as far as the manifest names them as their token does.
            person = None if policy.includes_caller else change.task.origin.person
            caller, named = person and recipient_key(person.name), enumerate(policy.recipients)
            return [self._shown(change, place, name) for place, name in named if recipient_key(name) != caller]
        # One bearer of one link could not be two people (decision 60).
        return [self._shown(change, None, None)] if policy.approvals == 1 else []

    def _shown(self, change: ApprovalChange, place: int | None, name: str | None) -> JsonObject:
        # Not until the question expires: a retried state waits longer, and is not announced anew.
        until = change.approval.asked_at + LONGEST_LIFE
        link = Link(change.key, place, until, self.mode is LinkMode.SIGN_IN)
        return {"to": name, "url": f"{self.origin}{PATH}{sealed(link, self.secret())}"}


def sealed(link: Link, secret: bytes) -> str:
    """Return the last part of a link's path."""
    place = _FOR_ALL if link.recipient is None else link.recipient
    key, until = link.key, int(link.until.timestamp())
    written: list[Json] = [key.task.owner, key.task.task_id, key.number, place, until, link.needs_sign_in]
    return seal(written, Purpose.APPROVAL_LINK, secret)


def link_of(text: str, secrets: Secrets) -> Link | None:
    """Return what a link says; None: this endpoint did not make it."""
    try:
        found = value_of(opened(text, Purpose.APPROVAL_LINK, secrets), _Written)
    except ValidationError:
        return None
    key = QuestionKey(TaskKey(Principal(found.owner), TaskId(found.task_id)), found.number)
    place = None if found.recipient == _FOR_ALL else found.recipient
    return Link(key, place, datetime.fromtimestamp(found.until, UTC), found.needs_sign_in)


def opened(text: str, purpose: Purpose, secrets: Secrets) -> Json:
    """Return what was sealed with any of the secrets; None: with none of them."""
    values = (unseal(text, purpose, secret) for secret in secrets())
    return next((value for value in values if value is not None), None)


def origin_of(resource: str) -> str:
    """Return the origin of the endpoint's URL."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}"
