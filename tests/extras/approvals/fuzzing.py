"""Requests as API Gateway sends them to function approvals, for pages with links alone and with sign-in.

An input is the JSON text of an event of an HTTP API or of a REST API, with one more member: the mode of the page. For
any input, the answer must be a page of the documented shape. It contains the question only for somebody with a link
that was made here or, with sign-in, with the form or the sign-in of somebody who may decide it; and only their form
changes a task. What a link, a form or a sign-in says is not fuzzed: it is sealed, so nobody else can write it.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from msgspec.structs import replace

from stepwire.aws.gateway import SignIn, caller_with_claims
from stepwire.catalog.access import Access
from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.page.drafts import COOKIE as TYPED
from stepwire.extras.approvals.page.drafts import Draft, cookie_of
from stepwire.extras.approvals.page.handler import ApprovalsHandler, approver_by
from stepwire.extras.approvals.page.links import Link, LinkMode, sealed
from stepwire.extras.approvals.page.markup import HEADERS
from stepwire.extras.approvals.page.page import ApprovalPage
from stepwire.extras.approvals.page.pages import APPROVE, DECISION, FORM_TOKEN, REFUSE
from stepwire.extras.approvals.page.sealed import Purpose, seal
from stepwire.extras.approvals.page.signing_in import COOKIE, Client, Endpoints, SigningIn, SignInRefused
from stepwire.extras.approvals.rules import Approver, VoteWay
from stepwire.json_text import JsonObject, as_list, as_object, write
from stepwire.protocol.tokens import encode
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import Task
from tests.extras.approvals.approving import POLICY, REFUND, ask, signed_in
from tests.extras.approvals.built import approvals_in
from tests.extras.approvals.strict_html import Page
from tests.fuzz.bounds import bounded, check_length
from tests.fuzz.strict import StrictStore, StrictWorkflows, copied
from tests.kits import ALICE, SECRET, World, catalog_of, keeping
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient

ORIGIN: Final = "https://mcp.example"
ISSUER: Final = "https://issuer.example"
CODE: Final = "a-code-of-the-issuer"
SHOWN: Final = "for those who decide alone"
"""A text in each question, and in no seed."""
KEPT: Final = "typed by Frida"
"""A text in a form that has expired, of somebody who may decide."""
HIDDEN: Final = "kept from approvers too"
"""A text in an argument that the manifest does not show."""
SIGN_IN: Final = SignIn("a stack")
FORM: Final[Json] = {
    "type": "object",
    "properties": {
        "note": {"type": "string", "title": "A note", "minLength": 3, "maxLength": 40},
        "more": {"type": "string"},
        "mail": {"type": "string", "format": "email"},
        "at": {"type": "string", "format": "date-time"},
        "amount": {"type": "number", "minimum": 1, "maximum": 700},
        "days": {"type": "integer"},
        "urgent": {"type": "boolean"},
        "account": {"type": "string", "enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}, "maxItems": 2},
    },
    "required": ["note", "amount"],
}
_TEXTS: Final = ("field-0", "field-1", "field-2")
"""The controls that are shown again as they were sent."""
_STATUSES: Final = frozenset({200, 204, 303, 400, 403, 404, 410, 413, 415, 422})
_COOKIE: Final = re.compile(
    rf"(({COOKIE}=[\w-]{{43}}|{TYPED}=[\w-]{{22,4096}}); Path=/; Max-Age=600|({COOKIE}|{TYPED})=; Path=/; Max-Age=0)"
    "; Secure; HttpOnly; SameSite=Lax",
    re.ASCII,
)
_AT_ISSUER: Final = re.compile(rf"{ISSUER}/authorize\?[\w.~%&=+-]+", re.ASCII)


class _OneIssuer:
    """An issuer at which Frida has just signed in."""

    def endpoints(self) -> Endpoints:
        return Endpoints(f"{ISSUER}/authorize", f"{ISSUER}/token")

    def access_token(self, form: Mapping[str, str]) -> str:
        urlencode(form).encode()  # as it is sent
        if form["code"] != CODE:
            raise SignInRefused("The issuer does not take the code, which is of use only once.")
        return f".{encode(write(_claims_of('frida')).encode())}."


def _claims_of(name: str) -> JsonObject:
    return {"iss": ISSUER, "sub": name, "aud": "the endpoint", "exp": 4_000_000_000, "groups": ["finance"]}


def _person(name: str) -> Approver:
    return approver_by(_claims_of(name), SIGN_IN, Access())


class FunctionApprovals(ApprovalsHandler):
    """Function approvals over the fakes."""

    def __init__(self, world: World, mode: LinkMode) -> None:
        page = ApprovalPage(
            approvals_in(world),
            mode,
            ORIGIN,
            "Stepwire",
            lambda: SECRET,
            lambda: [b"a secret before it", SECRET],
            _signing_in() if mode is LinkMode.SIGN_IN else None,
            world.refuses,
        )
        # What the function builds at its first request; and its faults, which it would log.
        vars(self).update(_page=page, _settings=SimpleNamespace(brand="Stepwire"), _report=world.faults.append)


def _signing_in() -> SigningIn:
    client = Client("the-page", ISSUER, frozenset({"the endpoint"}), "the endpoint", (), "", ORIGIN)
    return SigningIn(
        client,
        _OneIssuer(),
        lambda: SECRET,
        lambda: [SECRET],
        lambda count: b"r" * count,
        lambda claims: approver_by(claims, SIGN_IN, Access()),
    )


@dataclass(frozen=True)
class _Scene:
    """The world of each input, and what was given to people."""

    world: World
    open_links: Mapping[str, str]
    """The links of undecided questions, each with the digest that stands for who votes with it."""
    used_links: Sequence[str]
    """Those that only read: the question is decided, or this link has voted."""
    expired_links: Sequence[str]
    """Those that show no question."""
    forms: Mapping[tuple[str, str], str]
    """The links and form tokens of people who may decide, each with the digest of the person."""
    other_forms: Sequence[str]
    """Tokens that decide nothing: expired, or of somebody who is blocked."""
    sign_ins: Mapping[tuple[str, str], str]
    """States and code verifiers of people who are at the issuer, each with the link."""
    drafts: Sequence[str]
    """Cookies with what was typed into the form of the open question: by Frida, and by somebody else."""


@cache
def _scene() -> _Scene:
    """Return a world with an open question, one that is decided, and one that one of two people has approved."""
    policy = replace(POLICY, shown_arguments=("count",))
    both = replace(policy, approvals=2, recipients=("frida@a.example", "felix@a.example"))
    tools = keeping(REFUND, approvals=policy), keeping(replace(REFUND, name="together"), approvals=both)
    world = World(catalog=catalog_of(*tools), store=StrictStore(), workflows=StrictWorkflows())
    is_open, decided, half = (_question(world, tool) for tool in ("refund", "refund", "together"))
    now, day = world.clock.now(), timedelta(days=1)
    for key, link in ((decided, _link(decided, now + day)), (half, _link(half, now + day, 0))):
        approver = Approver(link.person, "somebody with the link", has_link=True)
        answer = {"action": "accept", "content": {"note": "fine", "amount": 1}}
        approvals_in(world).vote(key, approver, answer, VoteWay.LINK)
    live = [_link(is_open, now + day), _link(half, now + day, 1)]
    used = [_link(decided, now + day), _link(half, now + day, 0)]
    expired = [_link(is_open, now - day), _link(decided, now - day)]
    signing = [replace(link, needs_sign_in=True) for link in live]
    until = int((now + timedelta(minutes=5)).timestamp())
    forms: dict[tuple[str, str], str] = {}
    for link in (*live, *signing):
        text, frida = sealed(link, SECRET), _person("frida")
        forms[text, _form(text, frida, until)] = frida.person
    first = sealed(signing[0], SECRET)
    others = [_form(first, _person("frida"), until - 900), _form(first, _person("bob"), until)]
    assert world.faults == world.troubles == []
    return _Scene(
        world,
        {sealed(link, SECRET): link.person for link in live},
        [sealed(link, SECRET) for link in used],
        [sealed(link, SECRET) for link in expired],
        forms,
        others,
        dict(_begun(sealed(link, SECRET), world) for link in signing),
        [_draft(live[0].person, "frida", KEPT), _draft(live[0].person, "bob", HIDDEN)],
    )


def _question(world: World, tool: str) -> QuestionKey:
    client = ModernClient(signed_in(world, "alice"), ALICE, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    task_id = client.call(tool, {"text": HIDDEN, "count": 700}).id_in()
    ask(world, task_id, form={"message": f"May it go on? It is {SHOWN}.", "requestedSchema": FORM})
    return QuestionKey(TaskKey(ALICE, TaskId(task_id)), 1)


def _link(key: QuestionKey, until: Any, recipient: int | None = None) -> Link:
    return Link(key, recipient, until, needs_sign_in=False)


def _form(link: str, approver: Approver, until: int) -> str:
    written = [link, approver.person, approver.name, until, approver.principal]
    return seal(written, Purpose.APPROVAL_FORM, SECRET)


def _draft(question: str, name: str, typed: str) -> str:
    cookie = cookie_of(Draft(question, _person(name).person, {"field-0": [typed]}), SECRET)
    return str(cookie).partition(";")[0]


def _begun(link: str, world: World) -> tuple[tuple[str, str], str]:
    begun = _signing_in().begin(link, (), world.clock.now())
    state = dict(parse_qsl(urlsplit(begun.url).query))["state"]
    return (state, begun.cookie.partition("=")[2].partition(";")[0]), link


def fresh() -> World:
    """Return the world of each input, in which Bob is blocked."""
    world = copied(_scene().world)
    world.blocked.add(caller_with_claims(SIGN_IN, _claims_of("bob")).principal)
    return world


def check(data: bytes) -> bool:
    """Send an input to the function, and check the answer."""
    try:
        given = as_object(json.loads(data))
    except (ValueError, RecursionError):
        return False
    event, mode = _event_of(given), LinkMode.SIGN_IN if given.get("mode") == "sign-in" else LinkMode.LINK
    world = fresh()
    with bounded():
        response = FunctionApprovals(world, mode)(event, None)
    check_answer(event, mode, response, world, len(data))
    return True


# ------------------------------------------------------------------------------------------------------- what must hold


def check_answer(event: Json, mode: LinkMode, response: Json, world: World, asked: int) -> None:
    """Raise AssertionError unless a response is correct, and nothing was decided by anybody else."""
    for fault in (*world.faults, *world.troubles):
        raise AssertionError("an approver must get an answer") from fault
    written = json.dumps(response, ensure_ascii=False).encode().decode()  # as Lambda's runtime writes it
    check_length(written, asked)
    asked_for = _Asked(event, mode)
    _check_shape(event, response)
    may_see = asked_for.who is not None
    assert SHOWN not in written or may_see or asked_for.may_read, "only somebody who may decide a question sees it"
    typed = str(asked_for.form)
    assert not [one for one in _kept_from_all() if one in written and one not in typed], "nobody sees this"
    assert KEPT not in written or KEPT in typed or (may_see and asked_for.method != "POST"), "only Frida typed it"
    if may_see and asked_for.method not in ("HEAD", "POST"):
        assert response["statusCode"] == 200, "whoever may decide a question sees it"
        assert SHOWN in written, "whoever may decide a question sees it"
    if response["statusCode"] == 422:
        _check_sent_again(asked_for.form, response["body"])
    _check_votes(asked_for, world)


def _kept_from_all() -> list[str]:
    return [HIDDEN, ALICE, *(key.task_id for key in _scene().world.store.tasks)]


def _check_shape(event: Json, response: Json) -> None:
    headers, status = dict(response["headers"]), response["statusCode"]
    location = headers.pop("location", None)
    assert status in _STATUSES, f"no response has the status {status}"
    assert headers == HEADERS, "the headers must be those of every page"
    assert (location is not None) == (status == 303), "only a redirect names another place"
    assert location is None or _AT_ISSUER.fullmatch(location), "the only other place is the issuer's"
    assert all(_COOKIE.fullmatch(one) for one in response.get("cookies", ())), response["cookies"]
    Page().read(response["body"], is_empty=location is not None or event["requestContext"]["http"]["method"] == "HEAD")


def _check_sent_again(form: Mapping[str, list[str]], html: str) -> None:
    shown = Page().read(html).values
    for name in _TEXTS:
        assert shown[name] == "".join(form.get(name, [])[-1:]), "a form with a fault comes back as it was sent"


@dataclass(frozen=True)
class _Asked:
    """A request, as somebody else than the function reads it."""

    event: Json
    """Of an HTTP API."""
    mode: LinkMode

    @property
    def method(self) -> str:
        return self.event["requestContext"]["http"]["method"]

    @property
    def link(self) -> str:
        return as_object(self.event.get("pathParameters")).get("link") or ""

    @property
    def form(self) -> Mapping[str, list[str]]:
        text = self.event.get("body") or ""
        body = text.encode(errors="surrogatepass")
        if self.event.get("isBase64Encoded"):
            try:
                body = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                return {}
        return parse_qs(body.decode(errors="replace"), keep_blank_values=True)

    @property
    def who(self) -> str | None:
        """The digest of who may decide an open question with this request; None: nobody."""
        scene = _scene()
        if self.method == "POST":
            if self.mode is LinkMode.LINK:
                return scene.open_links.get(self.link)
            return scene.forms.get((self.link, "".join(self.form.get(FORM_TOKEN, [])[-1:])))
        if self.link:
            return scene.open_links.get(self.link) if self.mode is LinkMode.LINK else None
        query: str = self.event.get("rawQueryString") or ""
        last = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
        given: list[str] = self.event.get("cookies") or []
        cookies = {name: value for name, _, value in (one.partition("=") for one in given)}
        is_theirs = (last.get("state", ""), cookies.get(COOKIE, "")) in scene.sign_ins
        is_answered = last.get("code") == CODE and last.get("iss", ISSUER) == ISSUER
        return _person("frida").person if self.mode is LinkMode.SIGN_IN and is_theirs and is_answered else None

    @property
    def may_read(self) -> bool:
        """Whether the request is of somebody who has decided the question, or could have."""
        return self.mode is LinkMode.LINK and self.link in _scene().used_links

    @property
    def is_from_the_page(self) -> bool:
        given: dict[str, str] = self.event.get("headers") or {}
        headers = {name.lower(): value for name, value in given.items()}
        site = headers.get("sec-fetch-site")
        return headers.get("origin", "null") in ("null", ORIGIN) if site is None else site == "same-origin"


def _check_votes(asked: _Asked, world: World) -> None:
    before, after = _scene().world.store.tasks, world.store.tasks
    changed = [key for key, task in before.items() if after.get(key) != task]
    assert before.keys() == after.keys(), "a page neither makes tasks nor deletes them"
    if not changed:
        return
    decision = "".join(asked.form.get(DECISION, [])[-1:])
    assert asked.method == "POST", "only a form changes anything"
    assert asked.is_from_the_page, "only the page's own form changes anything"
    assert decision in (APPROVE, REFUSE), "only a button decides"
    assert asked.who is not None, "only somebody who may decide changes anything"
    (key,) = changed
    new = _votes_in(after[key]) - _votes_in(before[key])
    assert new == {(asked.who, decision == APPROVE)}, "the vote is theirs"


def _votes_in(task: Task) -> set[tuple[str, bool]]:
    votes = [one.answers for one in (*task.questions, *task.inputs.decisions)]
    return {(vote.by, vote.agrees) for vote in chain.from_iterable(votes)}


# --------------------------------------------------------------------------------------------------------------- inputs


def _event_of(given: Json) -> Json:
    """Correct the parts of an event that have a wrong type."""
    body, context = given.get("body"), as_object(given.get("requestContext"))
    method, query = as_object(context.get("http")).get("method"), given.get("rawQueryString")
    return {
        "pathParameters": _texts(given.get("pathParameters")) or None,
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
        "isBase64Encoded": given.get("isBase64Encoded") is True,
        "rawQueryString": query if isinstance(query, str) else "",
        "headers": _texts(given.get("headers")),
        "cookies": [one for one in as_list(given.get("cookies")) if isinstance(one, str)],
        "requestContext": {"http": {"method": method if isinstance(method, str) else "GET"}},
    }


def _texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in as_object(value).items() if isinstance(text, str)}


def _words() -> list[str]:
    """Return what people were given, and the words of the page's forms."""
    scene = _scene()
    tokens = [*(token for pair in (*scene.forms, *scene.sign_ins) for token in pair), *scene.other_forms]
    return [
        *(TYPED, *scene.drafts),
        *dict.fromkeys((*scene.open_links, *scene.used_links, *scene.expired_links, *tokens)),
        *(DECISION, APPROVE, REFUSE, FORM_TOKEN, "signed-in", "link", "mode", "sign-in", COOKIE, CODE, "code", "state"),
        *("iss", ISSUER, "error", "access_denied", ORIGIN, "null", "same-origin", "cross-site", "sec-fetch-site"),
        *("sec-purpose", "prefetch", "cookies", "cookie", "rawQueryString", "pathParameters", "HEAD", "OPTIONS"),
        *("application/x-www-form-urlencoded", "field-0", "field-3", "field-4", "field-7", "field-8", "on", "1", "%ff"),
        *("<script>alert(1)</script>", '"><img src=x onerror=a>', "</textarea><p>", "\r\nset-cookie: a=b", "&amp;"),
    ]


def seeds() -> list[bytes]:
    """Return requests with each link, form and sign-in."""
    scene = _scene()
    filled = {"field-0": "fine", "field-1": "two\r\nlines", "field-2": "a@b.example", "field-3": "2026-11-27T12:00"}
    filled |= {"field-4": "1.5", "field-5": "7", "field-6": "on", "field-7": "1", "field-8": "0", DECISION: APPROVE}
    faulty = {**filled, "field-0": '"<b>', "field-1": "</textarea>\u202e", "field-4": "701", "field-7": "9"}
    first = next(iter(scene.open_links))
    respelt = [f"{first}=", first.replace("-", "+"), first[:-1] + chr(ord(first[-1]) + 1)]
    links = [browsing(link) for link in (*scene.open_links, *scene.used_links, *scene.expired_links, *respelt)]
    votes = [_voting(first, form) for form in (filled, faulty, {DECISION: REFUSE})]
    signing = [browsing(link, query) for link, _ in scene.forms for query in ("", "sign-in")]
    tokens = [token for _, token in scene.forms]
    crossed = zip((link for link, _ in scene.forms), (*tokens[1:], *tokens[:1]), strict=True)
    useless = ((link, token) for token in scene.other_forms for link, _ in scene.forms)
    voting = [_voting(link, {FORM_TOKEN: token, **filled}) for link, token in (*scene.forms, *crossed, *useless)]
    back = [coming_back(f"code={code}", *sign_in) for sign_in in scene.sign_ins for code in (CODE, "another")]
    back += [{**one, "cookies": [*one["cookies"], draft]} for one in back for draft in scene.drafts]
    events: list[Json] = [{"mode": "link", **one} for one in (*links, *votes)]
    events += [{"mode": "sign-in", **one} for one in (*signing, *voting, *back)]
    events += [recorded(f"extras/approvals/http_{method}_approval") for method in ("get", "post")]
    return [json.dumps(one).encode() for one in events]


def browsing(link: str, query: str = "", cookies: Sequence[str] = ()) -> Json:
    """Return the request for the page of a link; without a link, for the one to which the issuer sends people."""
    return {**_request("GET", link), "rawQueryString": query, "headers": {}, "cookies": list(cookies)}


def coming_back(answer: str, state: str = "", verifier: str = "") -> Json:
    """Return the request with an answer of the issuer, by default for a sign-in that has begun."""
    known = next(iter(_scene().sign_ins))
    query = f"{answer}&state={state or known[0]}&iss={ISSUER}"
    return browsing("", query, [f"{COOKIE}={verifier or known[1]}"])


def posted(body: bytes, link: str = "") -> Json:
    """Return the request with which a browser sends a form, by default for the open question."""
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": "null", "sec-fetch-site": "same-origin"}
    encoded = {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return {**_request("POST", link or next(iter(_scene().open_links))), "headers": headers, **encoded}


def _voting(link: str, form: Mapping[str, str]) -> Json:
    return posted(urlencode(form).encode(), link)


def _request(method: str, link: str) -> Json:
    resource = "/approvals/{link}" if link else "/approvals/signed-in"
    return {
        "routeKey": f"{method} {resource}",
        "rawPath": f"/approvals/{link or 'signed-in'}",
        "pathParameters": {"link": link} if link else None,
        "requestContext": {"http": {"method": method}, "accountId": "1", "apiId": "a"},
    }


NAME: Final = "approvals"
ABOUT: Final = "function approvals, whole"
WORDS: Final = (*_words(),)
