"""What a state machine reads of its execution's input, in whatever order its states run.

Every state is visited with all that it may begin with, until nothing new comes; what is read then is noted. The rule: a
part of the input is required only if no way to a successful end avoids the states that fail without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from stepwire.json_text import JsonObject, as_object
from stepwire_wrap.definitions import jsonata_states, jsonpath_states
from stepwire_wrap.definitions.conditions import Facts, Limits, both, either, facts_of
from stepwire_wrap.definitions.handlers import Handlers
from stepwire_wrap.definitions.reads import Read, Reads, musts
from stepwire_wrap.definitions.scopes import Scope, Variables
from stepwire_wrap.definitions.values import EACH, INPUT, UNKNOWN, Path, Value, joined
from stepwire_wrap.definitions.visits import Branch, Visit
from stepwire_wrap.definitions.ways import unavoidable

_JSONATA: Final = "JSONata"
_JSONPATH: Final = "JSONPath"
_MOST_ROUNDS: Final = 30  # of visits to all states, before what still changes is given up
_DEEPEST: Final = 8  # levels of states inside states
_MOST_STEPS: Final = 500_000  # from state to state, of all searches together


@dataclass(frozen=True)
class Entry:
    """What a state may begin with."""

    data: Value
    variables: Variables

    def or_else(self, other: "Entry | None") -> "Entry":
        """Return what it may begin with if there are two ways to it."""
        if other is None:
            return self
        names = {**self.variables, **other.variables}
        mine, theirs = self.variables, other.variables
        variables = {name: joined(mine.get(name, UNKNOWN), theirs.get(name, UNKNOWN)) for name in names}
        return Entry(joined(self.data, other.data), variables)


@dataclass(frozen=True)
class Analysis:
    """What a state machine reads of its input."""

    reads: tuple[Read, ...] = ()
    required: frozenset[Path] = frozenset()
    """The parts without which no run succeeds."""
    facts: Facts = field(default_factory=dict[Path, Limits])
    """What holds of the input of each run that succeeds."""
    output: Value = UNKNOWN
    """What its successful runs end with."""
    unreadable: tuple[str, ...] = ()
    """Expressions that cannot be read, each with its state and why."""


@dataclass
class _Seen:
    """One state after its last visit."""

    visit: Visit
    reads: Reads
    inside: list[tuple[Branch, Analysis]]

    @property
    def has_handler(self) -> bool:
        """Whether an error of the state leads to another one."""
        return any(way.is_error for way in self.visit.exits)

    def required(self, *, at_exit: bool) -> frozenset[Path]:
        """Return the parts of the input without which the state fails."""
        found = musts(self.reads.found, at_exit=at_exit)
        for branch, analysis in [] if at_exit else self.inside:
            found |= frozenset(path for path in analysis.required if branch.runs_once or _is_within(path, branch.items))
        return found


def analysed(definition: JsonObject, handlers: Handlers = MappingProxyType({})) -> Analysis:
    """Return what a state machine reads of the input of its executions."""
    return _Machine(definition, _JSONPATH, 0, "", handlers).analysed(Entry(INPUT, {}), UNKNOWN)


def analysed_of_a_variable(definition: JsonObject, name: str) -> Analysis:
    """Return what states read of a variable that is there when they begin, as if it were the input."""
    return _Machine(definition, _JSONPATH, 0, "", {}).analysed(Entry(UNKNOWN, {name: INPUT}), UNKNOWN)


class _Machine:
    """States that run one after the other: a state machine, a branch, or what runs for an item."""

    def __init__(self, definition: JsonObject, language: str, depth: int, place: str, handlers: Handlers) -> None:
        self._states: Mapping[str, JsonObject] = {
            name: as_object(one) for name, one in as_object(definition.get("States")).items()
        }
        self._start = str(definition.get("StartAt"))
        self._language = str(definition.get("QueryLanguage", language))
        self._depth = depth
        self._place = place
        self._handlers = handlers
        self._left = _MOST_STEPS

    def analysed(self, entry: Entry, item: Value) -> Analysis:
        """Return what the states read, which begin with `entry`."""
        entries = self._entries(entry, item)
        seen = {name: self._visit(name, one, item) for name, one in entries.items()}
        ends = self._ends(seen)
        ways = {name: [way.to for way in one.visit.exits if way.to is not None] for name, one in seen.items()}
        always = unavoidable(self._start, ways, ends)
        return Analysis(
            tuple(read for one in seen.values() for read in self._reads_of(one)),
            self._required(seen, ends, always),
            both(self._facts(name, one) for name, one in seen.items() if name in always),
            self._output(seen),
            tuple(text for one in seen.values() for text in self._unreadable_in(one)),
        )

    def _entries(self, entry: Entry, item: Value) -> dict[str, Entry]:
        """Return what each state may begin with, once no visit adds anything."""
        entries = {self._start: entry} if self._start in self._states else {}
        changed = list(entries)
        for _ in range(_MOST_ROUNDS * max(1, len(self._states))):
            if not changed:
                break
            name = changed.pop(0)
            for way in self._visit_state(name, entries[name], item).exits:
                if way.to is None or way.to not in self._states:
                    continue
                after = Entry(way.value, way.variables).or_else(entries.get(way.to))
                if after != entries.get(way.to):
                    entries[way.to] = after
                    changed += [way.to] if way.to not in changed else []
        return entries

    def _visit(self, name: str, entry: Entry, item: Value) -> _Seen:
        is_task = self._states[name].get("Type") == "Task"
        reads = Reads(f"{self._place}{name}", is_jsonata=self._is_jsonata(name), passes_on=is_task)
        visit = self._visit_state(name, entry, item, reads)
        return _Seen(visit, reads, [(one, self._inside(name, one)) for one in visit.branches])

    def _visit_state(self, name: str, entry: Entry, item: Value, reads: Reads | None = None) -> Visit:
        state = self._states[name]
        scope = Scope(entry.data, entry.variables, reads or Reads(name), item=item, handlers=self._handlers)
        return (jsonata_states if self._is_jsonata(name) else jsonpath_states).visited(state, scope)

    def _is_jsonata(self, name: str) -> bool:
        return self._states[name].get("QueryLanguage", self._language) == _JSONATA

    def _inside(self, name: str, branch: Branch) -> Analysis:
        if self._depth >= _DEEPEST:
            return Analysis()
        inner = _Machine(branch.definition, self._language, self._depth + 1, f"{self._place}{name}/", self._handlers)
        return inner.analysed(Entry(branch.data, branch.variables), branch.item)

    def _reads_of(self, seen: _Seen) -> Iterator[Read]:
        yield from seen.reads.found
        for _, analysis in seen.inside:
            yield from analysis.reads

    def _unreadable_in(self, seen: _Seen) -> Iterator[str]:
        yield from (f"{seen.reads.state}: {text}" for text in dict.fromkeys(seen.reads.unreadable))
        for _, analysis in seen.inside:
            yield from analysis.unreadable

    def _ends(self, seen: Mapping[str, _Seen]) -> frozenset[str]:
        """Return the states that end successfully; if none does, those that fail."""
        ends = frozenset(name for name, one in seen.items() if any(way.to is None for way in one.visit.exits))
        return ends or frozenset(name for name in seen if self._states[name].get("Type") == "Fail")

    def _required(self, seen: Mapping[str, _Seen], ends: frozenset[str], always: frozenset[str]) -> frozenset[Path]:
        entering = {name: one.required(at_exit=False) for name, one in seen.items()}
        leaving = {name: one.required(at_exit=True) for name, one in seen.items()}
        paths = frozenset[Path]().union(*entering.values(), *leaving.values())
        stops, lates = _by_path(entering), _by_path(leaving)

        def is_avoided(path: Path) -> bool:
            stop, late = stops.get(path, frozenset()), lates.get(path, frozenset())
            if not always.isdisjoint(stop) or any(not seen[name].has_handler for name in always & late):
                return False
            # Only the searches that are needed: each may visit all states.
            is_single = len(stop) + len(late) == 1 and always.isdisjoint(late)
            return is_single or self._reaches(seen, ends, stop, late)

        return frozenset(path for path in paths if not is_avoided(path))

    def _reaches(
        self, seen: Mapping[str, _Seen], ends: frozenset[str], stop: frozenset[str], late: frozenset[str]
    ) -> bool:
        """Tell whether an end is reached without entering `stop`, or leaving `late` but by an error handler.

        True, too, after more searches than are bearable: what is required falsely is worse than what is not.
        """
        waiting, known = [self._start], {self._start}
        while waiting:
            name = waiting.pop()
            self._left -= 1
            if self._left < 0:
                return True
            if name in stop or name not in seen:
                continue
            if name in ends and name not in late:
                return True
            ways = [way.to for way in seen[name].visit.exits if way.is_error or name not in late]
            new = {to for to in ways if to is not None} - known
            waiting += new
            known |= new
        return False

    def _facts(self, name: str, seen: _Seen) -> Facts:
        """Return what holds of the input wherever a Choice state does not lead to a failure."""
        if self._states[name].get("Type") != "Choice":
            return {}
        before: list[Facts] = []
        outcomes: list[Facts] = []
        for rule in seen.visit.rules:
            if not self._only_fails(rule.to):
                outcomes.append(both([*before, facts_of(rule.condition, holds=True)]))
            before.append(facts_of(rule.condition, holds=False))
        if seen.visit.default is not None and not self._only_fails(seen.visit.default):
            outcomes.append(both(before))
        return either(outcomes)

    def _only_fails(self, name: str) -> bool:
        """Tell whether a state fails, or only passes something on to one that does."""
        for _ in self._states:
            state = self._states.get(name, {})
            if state.get("Type") != "Pass":
                return state.get("Type") == "Fail"
            name = str(state.get("Next"))
        return False

    def _output(self, seen: Mapping[str, _Seen]) -> Value:
        outputs = [way.value for one in seen.values() for way in one.visit.exits if way.to is None]
        output = outputs[0] if outputs else UNKNOWN
        for other in outputs[1:]:
            output = joined(output, other)
        return output


def _by_path(found: Mapping[str, Iterable[Path]]) -> dict[Path, frozenset[str]]:
    """Return the states that have each path, or one that leads through it."""
    names: dict[Path, set[str]] = {}
    for name, paths in found.items():
        for path in paths:
            for size in range(len(path) + 1):
                names.setdefault(path[:size], set()).add(name)
    return {path: frozenset(states) for path, states in names.items()}


def _is_within(path: Path, items: Path | None) -> bool:
    """Tell whether a path is inside the items that states run for."""
    return items is not None and path[: len(items) + 1] == (*items, EACH)
