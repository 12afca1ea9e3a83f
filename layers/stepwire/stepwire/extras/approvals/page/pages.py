"""What the page says: a question with its form, what was decided, or why there is nothing to decide.

The rule: an approver sees the question, who asks, the tool and the arguments that the manifest shows; once it is
decided, the question, the answer and who decided. Everybody else who has the link sees what was decided, by which
audience and when; a name only if it is their own. `service` tells who is who.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from stepwire.extras.approvals.inbox import OpenQuestion
from stepwire.extras.approvals.page.forms import Typed, drawn, fields_of
from stepwire.extras.approvals.page.markup import STYLE, Markup, Node, h, verbatim
from stepwire.extras.approvals.rules import VoteWay
from stepwire.extras.approvals.service import HasVoted
from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire.tasks.answers import Decision, Given
from stepwire.tasks.inputs import FormElicitation

FORM_TOKEN: Final = "signed-in"  # noqa: S105 - the name of a field
DECISION: Final = "decision"
APPROVE: Final = "approve"
REFUSE: Final = "refuse"
_CALLED_WITH: Final = "What the call was made with"
_NOTHING: Final[Typed] = {}


class Shown(Struct, frozen=True):
    """What a person gets to see of a question."""

    question: OpenQuestion
    arguments: JsonObject
    action: str
    """Path to which the form goes."""
    token: str = ""
    """What a form after a sign-in carries."""
    person: str = ""
    """What the person who signed in is called."""


class Sent(Struct, frozen=True):
    """What a form has, as it is shown."""

    given: Typed | None = None
    """None: it has the defaults."""
    faults: Mapping[str, str] = field(default_factory=dict[str, str])
    fault: str | None = None
    """What is wrong, of no field."""

    @property
    def is_wrong(self) -> bool:
        """Whether it must be changed."""
        return bool(self.faults or self.fault)


def question_page(shown: Shown, sent: Sent, brand: str) -> str:
    """Return the page of an open question."""
    question = shown.question
    audience = question.approval.shown
    body: list[Node] = [
        _head(f"A decision for {audience}", "Waits for a decision", "waits"),
        h("p", "Please look at what is marked below.", class_="note fault", role="alert") if sent.faults else None,
        h("p", f"Please change this: {sent.fault}.", class_="note fault", role="alert") if sent.fault else None,
        _form(shown, sent),
    ]
    return _page(("Error: " if sent.is_wrong else "") + f"A decision for {audience}", body, brand)


def decision_page(decision: Decision, person: str, brand: str) -> str:
    """Return the page that says what was decided; `person` is the digest of who reads it."""
    word, style = ("Approved", "approved") if decision.agrees else ("Refused", "refused")
    own = next((one for one in decision.answers if one.by == person), None)
    matter = decision.matter
    body: list[Node] = [
        _head(f"{word} by {decision.audience}", word, style),
        _own(own) if own else None,
        h("p", matter.message, class_="says") if matter else None,
        h("dl", [[h("dt", name), h("dd", value)] for name, value in _outcome(decision)]),
        h("p", "You may close this page." if own else "You need do nothing. You may close this page."),
    ]
    return _page(f"{word} by {decision.audience}", body, brand)


def voted_page(standing: HasVoted, brand: str) -> str:
    """Return the page for a person who has approved a question that needs more people."""
    question = standing.question
    approval, policy = question.approval, question.approval.policy
    count = f"{len(question.request.answers)} of {policy.approvals} have approved"
    body: list[Node] = [
        _head(count, "Waits for others", "waits"),
        _own(standing.vote),
        h(
            "p",
            f"It needs {policy.approvals} people of {approval.shown}, until ",
            _moment(question.expires_at),
            ".",
        ),
    ]
    return _page(count, body, brand)


def sign_in_page(action: str, brand: str) -> str:
    """Return the page that asks for a sign-in before it shows the question."""
    return _signing_page("Somebody asks for a decision", [h("p", "Sign in to see the question.")], action, brand)


def expired_page(action: str, brand: str, typed: Typed = _NOTHING, *, is_kept: bool = False) -> str:
    """Return the page that asks for another sign-in, for the person who typed something meanwhile."""
    said = "Nothing was decided. Sign in again to go on."
    texts = [text for values in typed.values() for text in values if text]
    body: list[Node] = [h("p", f"{said} What you filled in will be there again." if is_kept and texts else said)]
    if texts and not is_kept:
        body.append(h("p", "What you filled in is too long to be there again. Copy it before you sign in:"))
        body += [h("p", verbatim(text), class_="says") for text in texts]
    return _signing_page("Your sign-in has expired", body, action, brand)


def unclear_page(given: Typed, brand: str) -> str:
    """Return the page for a form whose decision may not have been recorded, which sends the same form again."""
    title = "That did not work"
    kept = [
        h("input", type="hidden", name=name, value=verbatim(one)) for name, values in given.items() for one in values
    ]
    button = h("button", "Send again", type="submit", class_="main")
    body: list[Node] = [
        _head(title, "Not certain", "waits"),
        h("p", "It is not certain whether your decision was recorded. Send it again in a minute: it counts only once."),
        h("p", "What you filled in is kept in this page. Do not close it until then."),
        # Without an action, it goes to where it went before.
        h("form", kept, h("div", button, class_="buttons"), method="post", autocomplete="off"),
    ]
    return _page(title, body, brand)


def _signing_page(title: str, body: list[Node], action: str, brand: str) -> str:
    link = h("a", "Sign in", href=action, class_="button main", rel="nofollow")
    return _page(title, [_head(title, "Needs a sign-in", "waits"), *body, h("p", link)], brand)


def note_page(title: str, said: str, brand: str, again: str = "") -> str:
    """Return a page with some words and, if there is somewhere to go, a link to begin again."""
    link = h("p", h("a", "Begin again", href=again, class_="button", rel="nofollow")) if again else None
    return _page(title, [h("h1", title), h("p", said), link], brand)


def _page(title: str, body: list[Node], brand: str) -> str:
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="robots", content="noindex"),
        h("title", f"{title} - {brand}"),
        h("style", Markup(STYLE)),
    )
    return "<!doctype html>\n" + h("html", head, h("body", h("header", brand), h("main", body)), lang="en")


def _head(title: str, status: str, style: str) -> Markup:
    return h("div", h("h1", title), h("span", status, class_=f"status {style}"), class_="row")


def _facts(question: OpenQuestion) -> Markup:
    approval, person, work = question.approval, question.task.origin.person, question.task.work
    title = question.title
    facts: list[tuple[str, Node]] = [
        ("Asked by", person.name if person else "a caller"),
        ("Tool", [f"{title} ", h("code", work.tool)] if title not in ("", work.tool) else work.tool),
        ("Asked", _moment(approval.asked_at)),
        ("Open until", _moment(question.expires_at)),
    ]
    if approval.policy.approvals > 1:
        facts.append(("Approved by", f"{len(question.request.answers)} of {approval.policy.approvals} people"))
    return h("dl", [[h("dt", name), h("dd", value)] for name, value in facts])


def _arguments(arguments: JsonObject) -> Node:
    if not arguments:
        return None
    rows = [[h("dt", name), h("dd", _value(value))] for name, value in arguments.items()]
    # A region that scrolls must be reached with the keyboard.
    shown = h("div", h("dl", rows), class_="shown", tabindex="0", role="group", aria_label=_CALLED_WITH)
    return h("section", h("h2", _CALLED_WITH), shown)


def _form(shown: Shown, sent: Sent) -> Markup:
    """Return the question with its form: the whole of it, so that the buttons stay in sight beside each part."""
    question, asked = shown.question, _asked(shown.question)
    signed_in = h("p", f"You are signed in as {shown.person}.", class_="quiet") if shown.person else None
    buttons = [
        h("button", "Approve", type="submit", name=DECISION, value=APPROVE, class_="main"),
        # Who refuses need not fill in anything.
        h("button", "Refuse", type="submit", name=DECISION, value=REFUSE, class_="stop", formnovalidate=True),
    ]
    return h(
        "form",
        h("input", type="hidden", name=FORM_TOKEN, value=shown.token) if shown.token else None,
        h("p", asked.message, class_="says"),
        _facts(question),
        _arguments(shown.arguments),
        h("div", drawn(load_json(asked.requested_schema), sent.given or {}, sent.faults), class_="fields"),
        signed_in,
        h("div", buttons, class_="buttons"),
        method="post",
        action=shown.action,
        autocomplete="off",
    )


def _outcome(decision: Decision) -> list[tuple[str, Node]]:
    """Return the answer, and who gave it when, as far as the reader may see it."""
    matter, word = decision.matter, "Approved" if decision.agrees else "Refused"
    given: JsonObject = load_json(matter.content) if matter is not None and matter.content is not None else {}
    fields = fields_of(load_json(matter.schema)) if given and matter is not None else ()
    answered: list[tuple[str, Node]] = [(one.title, one.shown(given[one.name])) for one in fields if one.name in given]
    people = [one.name for one in decision.answers if one.agrees is decision.agrees and one.name]
    by = [(f"{word} by", " and ".join(people))] if people else []
    return [*answered, *by, (word, _moment(decision.answers[-1].at))]


def _own(vote: Given) -> Markup:
    word = "approved" if vote.agrees else "refused"
    said = f"With this link, it was {word} on " if vote.way == VoteWay.LINK else f"You have {word} it on "
    return h("p", said, _moment(vote.at), ".", class_=f"note {word}", role="status")


def _moment(at: datetime) -> Markup:
    return h("time", f"{at:%A %Y-%m-%d %H:%M} UTC", datetime=at.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _value(value: Json) -> str:
    return value if isinstance(value, str) else write(value)


def _asked(question: OpenQuestion) -> FormElicitation:
    asked = question.request.asked
    if not isinstance(asked, FormElicitation):  # `background.input_requests` lets no other question have approvers
        raise TypeError(type(asked).__name__)
    return asked
