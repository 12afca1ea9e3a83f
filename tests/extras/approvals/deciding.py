"""For tests/model: what the reference knows of a question to others than the caller: who may decide it, what they
send and read.

A vote that was sent may count or not, until somebody reads that it did, or its workflow gets it. From then on everybody
must read the same.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from stepwire.extras.approvals.rules import Approvers, Escalation, HasScope, People
from stepwire.principal import Principal, principal_of
from stepwire.tasks.inputs import InputRequest
from tests.extras.approvals.questions_to_others import approval_in
from tests.kits import ALICE, BOB, OPTIONAL, keeping

Json = dict[str, Any]
ANN: Final = principal_of(("jwt", "https://issuer.example", "ann"), "a stack")
EVE: Final = principal_of(("jwt", "https://issuer.example", "eve"), "a stack")
SCOPES: Final = {ALICE: "finance", BOB: "finance", ANN: "finance", EVE: "chief"}
"""What the sign-in of each person shows. Alice and Bob are callers too."""
NEEDED: Final = {"approved": 1, "approved_by_two": 2}
"""How many people must approve, by the names of the tools whose workflows ask others than their callers."""
REMIND: Final = timedelta(hours=1)
_LATE: Final = timedelta(hours=2)
"""After which the second audience may decide too."""


def policy_of(needed: int) -> Approvers:
    """Return what a manifest says about who decides."""
    second = Escalation(_LATE, People((HasScope("chief"),)))
    return Approvers(People((HasScope("finance"),)), approvals=needed, remind=REMIND, escalation=second)


TOOLS: Final = tuple(
    keeping(replace(OPTIONAL, name=name), approvals=policy_of(needed)) for name, needed in NEEDED.items()
)
"""The tools whose workflows ask others than their callers."""


@dataclass(frozen=True)
class Cast:
    """A vote that somebody has sent."""

    person: Principal
    value: Json
    began_at: datetime

    @property
    def word(self) -> str:
        """What somebody reads whose vote it is."""
        return "approved" if self.value["action"] == "accept" else "refused"


@dataclass
class Others:
    """Those who decide a question."""

    needed: int
    """How many must approve."""
    asked_by: Principal
    asked_at: datetime
    """No later than the question was asked."""
    until: datetime | None
    number: int | None = None
    """The number of the question in its task, once it is asked."""
    casts: list[Cast] = field(default_factory=list[Cast])
    counted: dict[Principal, tuple[str, int]] = field(default_factory=dict[Principal, tuple[str, int]])
    """What people have read that they voted, and in which step first."""
    delivered: set[Principal] = field(default_factory=set[Principal])
    """Whose votes the workflow has got."""
    outcome: str = ""
    """What people have read that was decided; empty: nothing."""
    decided: int = 0
    """In which step somebody read it first."""

    def may_decide(self, person: Principal, at: datetime) -> bool:
        """Tell whether somebody may decide it at a time."""
        is_of_second = SCOPES[person] == "chief" and at >= self.asked_at + _LATE
        return person != self.asked_by and (SCOPES[person] == "finance" or is_of_second)

    def shows(self, person: Principal, began: int, began_at: datetime, now: datetime) -> None:
        """Check that somebody may be shown the form, by a request that began in this step."""
        assert self.may_decide(person, now), "somebody decides who may not"
        assert self.until is None or began_at < self.until, "an expired question is asked"
        assert not self.outcome or self.decided >= began, "a decided question is asked"
        assert person not in self.counted or self.counted[person][1] >= began, "who has voted is asked again"

    def tells(self, person: Principal, told: tuple[str, str], began: int, step: int, now: datetime) -> None:
        """Check what somebody reads: what they have voted, and what came of it, by a request that began in a step."""
        vote, outcome = told
        assert self.may_decide(person, now), "somebody decides who may not"
        sent = [one for one in self.casts if one.person == person and one.word == vote]
        assert sent, "somebody reads a vote that they did not send"
        assert self.until is None or sent[0].began_at < self.until, "an expired question is decided"
        assert self.counted.setdefault(person, (vote, step))[0] == vote, "a vote changes"
        if outcome == "open":
            assert not self.outcome or self.decided >= began, "a decision is forgotten"
        else:
            assert self.outcome in ("", outcome), "a decision changes"
            self.outcome, self.decided = outcome, self.decided or step

    def hides(self, person: Principal, began: int, *, is_open: bool, is_there: bool) -> None:
        """Check that somebody need not be shown anything, by a request that began in a step.

        Args:
            person: who.
            began: the step.
            is_open: whether the question was certainly open all the time, unless somebody has decided it.
            is_there: whether its task has certainly not expired.
        """
        has_read = person in self.counted and self.counted[person][1] < began
        is_kept = is_open or bool(self.outcome)  # a vote goes with a question that closes undecided
        assert not is_there or not ((has_read and is_kept) or person in self.delivered), "a vote is forgotten"
        others = [one for one in self.casts if one.person != person]
        is_theirs = SCOPES[person] == "finance" and person != self.asked_by
        assert not (is_open and is_there and is_theirs) or others, "a question is hidden from its approver"

    def checks(self, output: str) -> None:
        answer = json.loads(output)
        votes: list[Json] = answer.get("answers", [])
        assert votes, "the caller decides what others must"
        people = [vote["person"] for vote in votes]
        assert len(set(people)) == len(people), "one person counts twice"
        for vote in votes:
            self._check_vote(vote)
        self.delivered |= {Principal(person) for person in people}
        actions, accepted = [vote["action"] for vote in votes], answer["action"] == "accept"
        assert actions[:-1] == ["accept"] * (len(votes) - 1), "a refusal does not decide"
        assert answer["action"] == actions[-1], "the last vote does not decide"
        assert not accepted or len(votes) == self.needed, "too few people have approved"
        assert self.outcome in ("", "approved" if accepted else "refused"), "a decision changes"

    def _check_vote(self, vote: Json) -> None:
        at, person = datetime.fromisoformat(vote["at"]), Principal(vote["person"])
        assert self.may_decide(person, at), "somebody decides who may not"
        value = {name: vote[name] for name in ("action", "content") if name in vote}
        assert any((one.person, one.value) == (person, value) for one in self.casts), "a vote counts that nobody sent"
        assert self.until is None or at < self.until, "an expired question is decided"

    def check_open(self, request: InputRequest, now: datetime, late: timedelta) -> None:
        kept = {Principal(one.by) for one in request.answers}
        approval = approval_in(request)
        assert not self.outcome, "a decision is not delivered"
        assert self.counted.keys() <= kept, "a vote is lost"
        assert approval.reminders >= (now - late - approval.asked_at) // REMIND, "a reminder is lost"
        assert approval.reminders <= (now - approval.asked_at) // REMIND, "a reminder comes too early"


def others_of(tool: str, asked_by: Principal, asked_at: datetime, until: datetime | None) -> Others:
    """Return those who decide a question of a tool, whose caller is the one who asks."""
    return Others(NEEDED[tool], asked_by, asked_at, until)
