"""Answers the requests of the page: who asks with which link, what they see, and the vote of a form.

The ladder of a POST, first failure wins: 1. it comes from our own page; 2. its size and form; 3. the link; 4. with
sign-in, the form's token, which says who signed in for this link in the last minutes, and that they are not blocked;
5. the button; 6. the fields. Whatever of ours fails after the second, the answer has the form again, to be sent again.
Who may vote is checked by `service`, against the question as it is now.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qs

from msgspec import Struct, ValidationError, field
from msgspec.structs import replace

from stepwire.codec import value_of
from stepwire.engine.answers import WrongAnswer
from stepwire.engine.ports import Refuses, refuses_nobody
from stepwire.errors import CallerBlocked
from stepwire.extras.approvals.inbox import OpenQuestion
from stepwire.extras.approvals.page.drafts import FORGET, Draft, cookie_of, draft_in
from stepwire.extras.approvals.page.forms import Typed, begun, filled
from stepwire.extras.approvals.page.links import PATH, Link, LinkMode, Secrets, link_of, opened
from stepwire.extras.approvals.page.markup import HEADERS
from stepwire.extras.approvals.page.pages import (
    APPROVE,
    DECISION,
    FORM_TOKEN,
    REFUSE,
    Sent,
    Shown,
    decision_page,
    expired_page,
    note_page,
    question_page,
    sign_in_page,
    unclear_page,
    voted_page,
)
from stepwire.extras.approvals.page.sealed import Purpose, seal
from stepwire.extras.approvals.page.signing_in import COOKIE, IssuerUnavailable, SigningIn, SignInRefused
from stepwire.extras.approvals.refusals import UnknownApproval
from stepwire.extras.approvals.rules import Approver, HasScope, VoteWay
from stepwire.extras.approvals.service import Approvals, HasVoted
from stepwire.json_text import Json, load_json
from stepwire.tasks.answers import Action, Decision
from stepwire.tasks.inputs import FormElicitation

LARGEST_BODY: Final = 65_536  # bytes; a form's content has at most 16 kB, and a browser writes a byte as three
MOST_CONTROLS: Final = 2_000
LONGEST_FORM: Final = timedelta(minutes=10)
"""From a sign-in to the vote."""
SIGN_IN: Final = "sign-in"
"""The name in the query with which a link begins a sign-in; behind a REST API, it comes with an empty value."""
_FORM: Final = "application/x-www-form-urlencoded"
_FORGET: Final = f"{COOKIE}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax"
_ACTIONS: Final = {APPROVE: Action.ACCEPT, REFUSE: Action.DECLINE}
_OK, _SEE_OTHER, _BAD_REQUEST, _FORBIDDEN, _NOT_FOUND, _GONE = 200, 303, 400, 403, 404, 410
_TOO_LARGE, _NO_FORM, _WRONG_FORM, _FAILED, _UNAVAILABLE = 413, 415, 422, 500, 503


class PageRequest(Struct, frozen=True):
    """A request of a browser, or of what reads links."""

    method: str
    link: str
    """The last part of the path; empty: it comes back from the issuer."""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """By lower-case names, without cookies."""
    cookies: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


class PageResponse(Struct, frozen=True):
    """The response to a request."""

    status: int
    html: str = ""
    cookies: tuple[str, ...] = ()
    location: str | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""
        return HEADERS if self.location is None else {**HEADERS, "location": self.location}


class Visitor(Struct, frozen=True):
    """Who looks at a question."""

    approver: Approver
    way: VoteWay
    text: str
    """Of the link."""
    link: Link
    token: str = ""
    """What their form carries."""


class _FormToken(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    link: str
    person: str
    name: str
    until: int
    """Seconds since 1970."""
    principal: str = ""


class _Refused(Exception):
    """A request that is answered without a look at a question."""

    def __init__(self, response: PageResponse) -> None:
        super().__init__(response.status)
        self.response = response


class ApprovalPage(Struct, frozen=True):
    """The page."""

    approvals: Approvals
    mode: LinkMode
    origin: str
    brand: str
    secret: Callable[[], bytes]
    secrets: Secrets
    signing_in: SigningIn | None = None
    """Needed in mode SIGN_IN."""
    refuses: Refuses = refuses_nobody

    def answer(self, request: PageRequest) -> PageResponse:
        """Return the answer to a request. Only a POST changes anything."""
        try:
            match request.method:
                case "HEAD":
                    return PageResponse(_OK)
                case "POST":
                    return self._posted(request)
                case _ if request.link:
                    return self._opened(request)
                case _:
                    return self._signed_in(request)
        except _Refused as refused:
            return refused.response
        except IssuerUnavailable as fault:
            self.approvals.report(fault)
            said = "The sign-in does not answer at the moment. Nothing was decided: open your link again in a minute."
            return PageResponse(_UNAVAILABLE, note_page("Nobody can sign in now", said, self.brand))

    def _opened(self, request: PageRequest) -> PageResponse:
        link, now = self._link(request.link), self._now
        if not self._needs_sign_in(link):
            return self._seen(self._with_link(request.link, link), Sent(), request)
        if SIGN_IN not in _pairs(request.query):
            return PageResponse(_OK, sign_in_page(_sign_in_at(request.link), self.brand))
        begins = self._signing_in.begin(request.link, self._scopes(link), now)
        return PageResponse(_SEE_OTHER, cookies=(begins.cookie,), location=begins.url)

    def _signed_in(self, request: PageRequest) -> PageResponse:
        """Answer a browser that comes back from the issuer with the answer to the sign-in that it began."""
        answer = {name: values[-1] for name, values in _pairs(request.query).items()}
        verifier, again = request.cookies.get(COOKIE, ""), ""
        try:
            text = self._signing_in.link_in(answer.get("state", ""), verifier, self._now)
            again = f"{PATH}{text}"
            approver = self._signing_in.finish(answer, verifier, self._now)
        except SignInRefused as error:
            page = note_page("You are not signed in", str(error), self.brand, again)
            # The cookie may be of another sign-in, in another tab, which goes on.
            return PageResponse(_FORBIDDEN, page, (_FORGET,) if again else ())
        self._check_not_blocked(approver)
        link = self._link(text)
        if link.until <= self._now:  # they see what was decided, and no more
            approver = replace(approver, qualities=frozenset())
        until = int(min(self._now + LONGEST_FORM, link.until).timestamp())
        written: list[Json] = [text, approver.person, approver.name, until, approver.principal]
        token = seal(written, Purpose.APPROVAL_FORM, self.secret())
        draft = draft_in(request.cookies, link, self.secrets)
        given = draft.given if draft is not None and draft.person == approver.person else None
        seen = self._seen(Visitor(approver, VoteWay.SIGN_IN, text, link, token), Sent(given), request)
        return replace(seen, cookies=(_FORGET, *([FORGET] if draft else [])))

    def _posted(self, request: PageRequest) -> PageResponse:
        if not self._is_from_our_page(request.headers):
            said = "This form was sent by another page. Nothing was decided: open the link that you were sent."
            raise _Refused(PageResponse(_FORBIDDEN, note_page("Not from this page", said, self.brand)))
        given = self._given(request)
        try:
            return self._decided(request, given)
        except _Refused:
            raise
        except Exception as fault:  # noqa: BLE001 - what was filled in must not be lost
            self.approvals.report(fault)
            return PageResponse(_FAILED, unclear_page(given, self.brand))

    def _decided(self, request: PageRequest, given: Typed) -> PageResponse:
        link = self._link(request.link)
        visitor = self._with_link(request.link, link)
        if self._needs_sign_in(link):
            visitor = self._with_token(given, visitor)
        action = _ACTIONS.get("".join(given.get(DECISION, ())[-1:]))
        if action is None:
            raise _Refused(self._malformed("The form says neither yes nor no."))
        return self._voted(visitor, action, given)

    def _voted(self, visitor: Visitor, action: Action, given: Typed) -> PageResponse:
        standing = self.approvals.standing(visitor.link.key, visitor.approver)
        if not isinstance(standing, OpenQuestion):
            return self._closed(standing, visitor)
        asked, answer = standing.request.asked, dict[str, Json](action=action.value)
        if action is Action.ACCEPT and isinstance(asked, FormElicitation):
            form = filled(asked.requested_schema, given)
            if form.faults:
                return self._open(standing, visitor, Sent(given, form.faults))
            answer["content"] = form.content
        try:
            voted = self.approvals.vote(visitor.link.key, _named(visitor, standing).approver, answer, visitor.way)
        except UnknownApproval:  # somebody else was faster, or it has closed in this moment
            return self._closed(self.approvals.standing(visitor.link.key, visitor.approver), visitor)
        if isinstance(voted, WrongAnswer):
            return self._open(standing, visitor, Sent(given, fault=voted.reason))
        return self._closed(voted, visitor)

    def _seen(self, visitor: Visitor, sent: Sent, request: PageRequest) -> PageResponse:
        standing = self.approvals.standing(visitor.link.key, visitor.approver)
        if not isinstance(standing, OpenQuestion):
            return self._closed(standing, visitor)
        if "prefetch" not in request.headers.get("sec-purpose", ""):
            self.approvals.seen(standing, visitor.approver, visitor.way)
        return self._open(standing, visitor, sent)

    def _open(self, question: OpenQuestion, visitor: Visitor, sent: Sent) -> PageResponse:
        """Return the page of a question; a form that was not sent yet has the defaults."""
        asked = question.request.asked
        if sent.given is None and isinstance(asked, FormElicitation):
            sent = Sent(begun(load_json(asked.requested_schema)))
        person = visitor.approver.name if visitor.way is VoteWay.SIGN_IN else ""
        arguments = self.approvals.shown_arguments(question)
        shown = Shown(question, arguments, f"{PATH}{visitor.text}", visitor.token, person)
        return PageResponse(_WRONG_FORM if sent.is_wrong else _OK, question_page(shown, sent, self.brand))

    def _closed(self, standing: OpenQuestion | HasVoted | Decision | None, visitor: Visitor) -> PageResponse:
        match standing:
            case Decision():
                return PageResponse(_OK, decision_page(standing, visitor.approver.person, self.brand))
            case HasVoted():
                return PageResponse(_OK, voted_page(standing, self.brand))
            case _ if visitor.link.until <= self._now:
                said = "It can be decided no more. Whoever asked can ask again."
                return PageResponse(_GONE, note_page("This link has expired", said, self.brand))
            case _ if visitor.way is VoteWay.SIGN_IN:
                said = f"You are signed in as {visitor.approver.name}. {UnknownApproval()}"
                return PageResponse(_FORBIDDEN, note_page("Not yours to decide", said, self.brand))
            case _:
                said = "It has expired, or the workflow does not wait for it any more. You need do nothing."
                return PageResponse(_GONE, note_page("This question is closed", said, self.brand))

    def _link(self, text: str) -> Link:
        link = link_of(text, self.secrets)
        if link is None:
            said = "There is no such question. Is the link whole, as you were sent it?"
            raise _Refused(PageResponse(_NOT_FOUND, note_page("No such question", said, self.brand)))
        if link.needs_sign_in and self.signing_in is None:
            said = "This link needs a sign-in, which the endpoint does not have any more. Ask for a new question."
            raise _Refused(PageResponse(_GONE, note_page("This link is of no use now", said, self.brand)))
        return link

    def _needs_sign_in(self, link: Link) -> bool:
        return link.needs_sign_in or self.mode is LinkMode.SIGN_IN

    def _with_link(self, text: str, link: Link) -> Visitor:
        """Return whoever has a link. With one that has expired, they see what was decided, and no more."""
        is_live = link.until > self._now
        return Visitor(Approver(link.person, "somebody with the link", has_link=is_live), VoteWay.LINK, text, link)

    def _with_token(self, given: Typed, visitor: Visitor) -> Visitor:
        """Return who signed in for this link, as their form's token says. They could decide the question then."""
        token = "".join(given.get(FORM_TOKEN, ())[-1:])
        try:
            found = value_of(opened(token, Purpose.APPROVAL_FORM, self.secrets), _FormToken)
        except ValidationError:
            found = None
        if found is None or found.link != visitor.text:
            raise _Refused(PageResponse(_FORBIDDEN, expired_page(_sign_in_at(visitor.text), self.brand)))
        if found.until <= self._now.timestamp():
            typed = {name: values for name, values in given.items() if name not in (FORM_TOKEN, DECISION)}
            raise _Refused(self._expired(visitor, Draft(visitor.link.person, found.person, typed)))
        approver = Approver(found.person, found.name, principal=found.principal, has_link=True)
        self._check_not_blocked(approver)
        return replace(visitor, approver=approver, way=VoteWay.SIGN_IN, token=token)

    def _expired(self, visitor: Visitor, draft: Draft) -> PageResponse:
        """Ask for another sign-in, after which this browser has what was typed; who signs in, learns nothing here."""
        cookie = cookie_of(draft, self.secret())
        page = expired_page(_sign_in_at(visitor.text), self.brand, draft.given, is_kept=cookie is not None)
        return PageResponse(_FORBIDDEN, page, (cookie,) if cookie else ())

    def _check_not_blocked(self, approver: Approver) -> None:
        """Refuse a person whom an operator has blocked. Without a sign-in, nobody knows who has a link."""
        if self.refuses(self._now, approver.person, approver.principal or approver.person):
            page = note_page("Not yours to decide", str(CallerBlocked()), self.brand)
            raise _Refused(PageResponse(_FORBIDDEN, page, (_FORGET,)))

    def _scopes(self, link: Link) -> list[str]:
        """Return the scopes that the audiences of a question need, as far as it is open."""
        known = self.approvals.standing(link.key, Approver(link.person, "", has_link=True))
        if not isinstance(known, OpenQuestion):
            return []
        conditions = [one for audience in known.approval.audiences(self._now) for one in audience.conditions]
        return [one.scope for one in conditions if isinstance(one, HasScope)]

    def _is_from_our_page(self, headers: Mapping[str, str]) -> bool:
        """Tell whether a form may be from our page. Browsers say so; one that does not is held to link and token.

        Our page lets browsers send no Referer, and then they send the origin `null`.
        """
        site = headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        return headers.get("origin", "null") in ("null", self.origin)

    def _given(self, request: PageRequest) -> Typed:
        if len(request.body) > LARGEST_BODY:
            said = f"What was sent is larger than {LARGEST_BODY} bytes. Nothing was decided: write less."
            raise _Refused(PageResponse(_TOO_LARGE, note_page("Too large", said, self.brand)))
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            said = "Only the form of this page can decide. Nothing was decided."
            raise _Refused(PageResponse(_NO_FORM, note_page("Not a form", said, self.brand)))
        try:
            return parse_qs(
                request.body.decode(), keep_blank_values=True, max_num_fields=MOST_CONTROLS, errors="strict"
            )
        except ValueError:
            raise _Refused(self._malformed("The form cannot be read.")) from None

    def _malformed(self, said: str) -> PageResponse:
        page = note_page("Not understood", f"{said} Nothing was decided: open the link that you were sent.", self.brand)
        return PageResponse(_BAD_REQUEST, page)

    @property
    def _signing_in(self) -> SigningIn:
        if self.signing_in is None:
            said = "There is no sign-in here."
            raise _Refused(PageResponse(_NOT_FOUND, note_page("No such page", said, self.brand)))
        return self.signing_in

    @property
    def _now(self) -> datetime:
        return self.approvals.recorder.clock.now()


def _sign_in_at(link: str) -> str:
    return f"{PATH}{link}?{SIGN_IN}"


def _pairs(query: str) -> Mapping[str, list[str]]:
    try:
        text = query.encode(errors="replace").decode()
        return parse_qs(text, keep_blank_values=True, max_num_fields=MOST_CONTROLS)
    except ValueError:
        return {}


def _named(visitor: Visitor, question: OpenQuestion) -> Visitor:
    """Return who votes with a link by the name of the one whom it was made for."""
    recipients, place = question.approval.policy.recipients, visitor.link.recipient
    if visitor.way is not VoteWay.LINK or place is None or place >= len(recipients):
        return visitor
    return replace(visitor, approver=replace(visitor.approver, name=recipients[place]))
