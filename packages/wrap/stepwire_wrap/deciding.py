"""Ask who decides at the states that wait for a person, or take it from the options of `stepwire wrap`.

The rule: an answer that cannot be understood is asked again, with what is right; without a terminal nobody is asked,
and nothing is chosen in anybody's place.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from stepwire.json_text import Json, JsonObject
from stepwire_wrap.definitions.deciders import Choices, Decider, Others, others
from stepwire_wrap.definitions.drafts import Draft
from stepwire_wrap.definitions.hints import Hint
from stepwire_wrap.drafting import Screen, Wrapped
from stepwire_wrap.exits import WrapError


@dataclass(frozen=True)
class Deciding:
    """What is known of who decides."""

    decider: Decider | None = None
    """At every state; None: it was not said."""
    audience: JsonObject = field(default_factory=dict[str, Json])
    ask: Callable[[str], str] | None = None
    """Asks for a line; None: there is nobody to ask."""

    @staticmethod
    def of(decides: str | None, they: Sequence[str], ask: Callable[[str], str] | None) -> "Deciding":
        """Return what the options say: who decides, or who the others are that do.

        Raises:
            WrapError: they contradict each other, or say nobody's sign-in.
        """
        asked = others() if they else None
        if asked is None:
            return Deciding(None if decides is None else Decider(decides), ask=ask)
        if decides is not None:
            raise WrapError(f"--{asked.name} says who decides, and so does --decides {decides}: write one of them.")
        try:
            return Deciding(Decider.OTHERS, asked.sign_in(they), ask)
        except ValueError as error:
            raise WrapError(f"--{asked.name}: {error}") from None


NOBODY_SAYS: Final = Deciding()


def decided(found: Iterable[Wrapped], deciding: Deciding, screen: Screen) -> list[Wrapped]:
    """Return the drafts with what was chosen; those of which nothing was chosen are as they were."""
    return [replace(one, draft=_decided(one.draft, deciding, screen)) if one.draft else one for one in found]


def _decided(draft: Draft, deciding: Deciding, screen: Screen) -> Draft:
    if not draft.undecided or (deciding.decider is None and deciding.ask is None):
        return draft
    choices = Choices(audience=deciding.audience)
    for one in draft.undecided:
        decider = deciding.decider or _asked(draft, one, deciding.ask or (lambda _prompt: ""), screen)
        asked = others() if decider is Decider.OTHERS and not choices.audience else None
        if asked is not None and deciding.ask is not None:
            choices = replace(choices, audience=_sign_in(one, asked, deciding.ask, screen))
        choices = replace(choices, deciders={**choices.deciders, one.state: decider})
    return draft.decided(choices)


def _asked(draft: Draft, hint: Hint, ask: Callable[[str], str], screen: Screen) -> Decider:
    """Ask who decides at a state; no answer takes the first way."""
    screen.say(f"{draft.machine.name}: {hint.what}. Who decides?")
    for number, way in enumerate(hint.ways, 1):
        screen.say(f"  {number}  {way.title}: {way.meaning}.")
    ways = {str(number): way.decider for number, way in enumerate(hint.ways, 1)}
    while (answer := ask(f"{' or '.join(ways)} (1): ") or "1") not in ways:
        screen.say(f"{answer[:100]!r} is none of them.")
    return ways[answer]


def _sign_in(hint: Hint, asked: Others, ask: Callable[[str], str], screen: Screen) -> JsonObject:
    proposed = next(one.option.rpartition(" ")[2] for one in hint.ways if one.decider is Decider.OTHERS)
    screen.say(f"What does the sign-in of {asked.name} have? {asked.right[0].upper()}{asked.right[1:]}.")
    while True:
        try:
            return asked.sign_in([ask(f"Their sign-in ({proposed}): ") or proposed])
        except ValueError as error:
            screen.say(str(error))
