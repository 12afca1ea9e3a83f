"""What a deployment would create, open and cost, and how that is shown before anything is written.

What an extra adds is what the stack has with it and not without it, with the chosen parameters and the other extras.

The rule: a new stack's plan comes from the release alone, whose list of resources was made by translating its template;
nothing of the account is asked. What becomes of a stack that is there, only CloudFormation's change set tells.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from stepwire.json_text import JsonObject
from stepwire_cli.deployment import change_set
from stepwire_cli.deployment.change_set import Action, Change
from stepwire_cli.deployment.in_use import InUse
from stepwire_cli.deployment.inventory import created_by, rights_of
from stepwire_cli.deployment.release import Release
from stepwire_cli.deployment.stack import Readiness, Stack
from stepwire_cli.screen import Screen

AUTHORIZER: Final = "Authorizer"
_OPEN: Final = frozenset({"AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::DomainName", "AWS::Cognito::UserPoolDomain"})
"""The types of what answers the internet."""
_ROUTE: Final = "AWS::ApiGatewayV2::Route"
"""What an extra has answer it at the core's API."""
_SHOWN: Final = (Action.REPLACED, Action.MAY_BE_REPLACED, Action.DELETED, Action.LEFT, Action.CHANGED)
"""What is listed by name, the gravest first; what is created is counted by its kind."""
_COLUMNS: Final = ("extra", "is", "what it does", "adds", "may use", "opens", "a month")
_WORDS_OF: Final = re.compile(r"[A-Z][a-z0-9]+|[A-Z]+(?=[A-Z]|$)")


@dataclass(frozen=True)
class Choice:
    """What becomes of an extra, and what it means with the chosen parameters."""

    name: str
    description: str
    is_on: bool
    was_on: bool
    adds: tuple[Change, ...]
    rights: tuple[tuple[str, str], ...]
    """What its functions, and the core's because of it, may: the resource with the right, and the action."""
    dollars: float
    """What it costs a month while nobody calls."""

    @property
    def state(self) -> str:
        """Whether the stack has it, in words."""
        change = "" if self.is_on is self.was_on else ", new" if self.is_on else ", goes"
        return f"{'on' if self.is_on else 'off'}{change}"

    @property
    def opens(self) -> list[str]:
        """The names of what it adds and answers the internet."""
        return [one.name for one in self.adds if one.kind in _OPEN or one.kind == _ROUTE]

    @property
    def row(self) -> tuple[str, ...]:
        """What a person is shown."""
        count = f"{len(self.adds) or 'no'} resource{'' if len(self.adds) == 1 else 's'}"
        uses = ", ".join(sorted({action.partition(":")[0] for _, action in self.rights})) or "nothing more"
        opens = ", ".join(self.opens) or "nothing"
        return (self.name, self.state, self.description, count, uses, opens, f"${self.dollars:.2f}")

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "name": self.name,
            "description": self.description,
            "on": self.is_on,
            "was": self.was_on,
            "adds": len(self.adds),
            "rights": [f"{holder} {action}" for holder, action in self.rights],
            "open": self.opens,
            "dollars": self.dollars,
        }


@dataclass(frozen=True)
class Plan:
    """What a deployment of a release would do to a stack."""

    stack: Stack
    release: Release
    chosen: Mapping[str, str]
    """The values of the parameters."""
    changes: tuple[Change, ...]
    in_use: tuple[InUse, ...] = ()
    """What of the extras that the stack loses is in use, or may be."""

    @property
    def created(self) -> Counter[str]:
        """How many resources of each type are created."""
        return Counter(one.kind for one in self.changes if one.action is Action.CREATED)

    @property
    def opens(self) -> list[str]:
        """The names of what is created and answers the internet."""
        return [one.name for one in self.changes if one.kind in _OPEN and one.action is Action.CREATED]

    @property
    def dollars(self) -> float:
        """What the stack costs a month while nobody calls."""
        return round(self.release.cost.with_(self.chosen), 2)

    @property
    def before(self) -> frozenset[str]:
        """The extras that the stack has; all that there are if it does not say, as before there was a choice."""
        if self.stack.readiness is Readiness.ABSENT:
            return frozenset(self.release.chosen)
        return frozenset(self.release.extras if self.stack.extras is None else self.stack.extras)

    @property
    def goes(self) -> list[str]:
        """The names of the extras that the stack loses."""
        return sorted(self.before - {*self.release.chosen})

    @property
    def extras(self) -> list[Choice]:
        """What becomes of each extra of the release."""
        return [self._choice(name) for name in self.release.extras]

    @property
    def lost(self) -> tuple[Change, ...]:
        """What goes with the extras that the stack loses, as the template names it, and what of it stays behind."""
        if not self.goes:
            return ()
        there = self.release.with_extras(self.before & self.release.extras.keys())
        resources: Mapping[str, JsonObject] = there.document["Resources"]
        kept = {one.name for one in created_by(self.release, self.chosen)}
        lost = [one for one in created_by(there, self.chosen) if one.name not in kept and one.name in resources]
        stay = {one.name for one in lost if resources[one.name].get("DeletionPolicy") == "Retain"}
        return tuple(replace(one, action=Action.LEFT if one.name in stay else Action.DELETED) for one in lost)

    @property
    def going(self) -> str:
        """What goes with the extras that the stack loses, in words; empty: it loses none."""
        if not self.goes:
            return ""
        lost = self.lost
        gone, stay = ([one.name for one in lost if one.action is it] for it in (Action.DELETED, Action.LEFT))
        verb, pronoun = ("goes", "it") if len(self.goes) == 1 else ("go", "them")
        words = f"{' and '.join(self.goes)} {verb}, and with {pronoun} "
        left = f" What was in {' and '.join(stay)} stays in the account, and is no longer of the stack." if stay else ""
        return f"{words}{', '.join(gone) or 'no resource'}.{left}"

    @property
    def question(self) -> str:
        """What is asked before it is done."""
        grave = change_set.counted(self.changes)[Action.REPLACED]
        replaced = f", and replace {grave} of its resources" if grave else ""
        removed = f", remove {' and '.join(self.goes)}" if self.goes else ""
        what = "Create" if self.stack.readiness is Readiness.ABSENT else "Change"
        return f"{what} {self.stack.name}{removed}{replaced}?"

    @property
    def question_of_use(self) -> str:
        """What is asked first if an extra that the stack loses is in use."""
        names = sorted({one.extra for one in self.in_use})
        return f"Remove {' and '.join(names)} although {'it is' if len(names) == 1 else 'they are'} in use?"

    def show(self, screen: Screen) -> None:
        """Print it; whoever reads JSON has agreed on the command line."""
        if screen.as_json:
            return
        stack = self.stack
        before = "" if stack.readiness is Readiness.ABSENT else f" (now {stack.version or 'from its sources'})"
        screen.heading(f"{stack.name}: version {self.release.version}{before}")
        screen.table(("what", "resource", "type"), self._rows())
        if self.release.extras:
            screen.table(_COLUMNS, [one.row for one in self.extras])
        if self.going:
            screen.result(self.going)
        for one in self.in_use:
            screen.result(one.words)
        if self.opens:
            who = self.chosen.get(AUTHORIZER, "")
            whoever = "everybody who learns its URL may call it" if who == "none" else f"callers sign in with {who}"
            screen.result(f"The internet reaches {' and '.join(self.opens)}: {whoever}.")
        screen.result(f"While nobody calls, it costs about ${self.dollars:.2f} a month.")

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        rest = [one for one in self.changes if one.action is not Action.CREATED]
        return {
            "stack": self.stack.name,
            "version": self.release.version,
            "created": dict(sorted(self.created.items())),
            "changed": [{"action": one.action.value, "resource": one.name, "type": one.kind} for one in rest],
            "extras": [one.as_json() for one in self.extras],
            "inUse": [one.as_json() for one in self.in_use],
            "open": self.opens,
            "dollars": self.dollars,
            "question": self.question,
        }

    def _choice(self, name: str) -> Choice:
        chosen = {*self.release.chosen}
        more, less = (self.release.with_extras(some) for some in (chosen | {name}, chosen - {name}))
        others = {one.name for one in created_by(less, self.chosen)}
        return Choice(
            name,
            self.release.extras[name].description,
            is_on=name in chosen,
            was_on=name in self.before,
            adds=tuple(one for one in created_by(more, self.chosen) if one.name not in others),
            rights=tuple(sorted(rights_of(more, self.chosen) - rights_of(less, self.chosen))),
            dollars=round(more.cost.with_(self.chosen) - less.cost.with_(self.chosen), 2),
        )

    def _rows(self) -> list[tuple[str, str, str]]:
        by_name = sorted(self.changes, key=lambda one: one.name)
        rows = [
            (one.action.value, one.name, _short(one.kind))
            for action in _SHOWN
            for one in by_name
            if one.action is action
        ]
        most_first = sorted(self.created.items(), key=lambda one: (-one[1], one[0]))
        return [*rows, *((Action.CREATED.value, _counted(count, kind), _short(kind)) for kind, count in most_first)]


def compared(plan: Plan, there: Mapping[str, tuple[str, str]]) -> Plan:
    """Return a plan of what a stack would gain and lose by name, compared with the resources that it has."""
    names, known = {one.name for one in plan.changes}, {one.name: one for one in plan.lost}
    lost = (Change(Action.DELETED, name, kind) for name, (kind, _) in there.items() if name not in names)
    new = (one for one in plan.changes if one.name not in there)
    return replace(plan, changes=(*new, *(known.get(one.name, one) for one in lost)))


def _short(kind: str) -> str:
    return kind.removeprefix("AWS::")


def _counted(count: int, kind: str) -> str:
    """Return a number of resources in words: 3 log groups."""
    word = " ".join(_WORDS_OF.findall(kind.rpartition("::")[2])).lower()
    if count == 1:
        return f"1 {word}"
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{count} {plural}"
