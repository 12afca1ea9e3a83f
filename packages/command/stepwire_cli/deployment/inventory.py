"""What a stack of a release has with its parameters, by its template: resources, and the rights of its roles."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from stepwire.json_text import Json, JsonObject, as_list, as_object
from stepwire_cli.deployment.change_set import Action, Change
from stepwire_cli.deployment.release import Created, Release
from stepwire_cli.exits import CommandError
from stepwire_wrap.files.intrinsics import Resolver

_WITH_POLICIES: Final = frozenset({"AWS::Serverless::Function", "AWS::IAM::Policy", "AWS::IAM::Role"})


def created_by(release: Release, chosen: Mapping[str, str]) -> tuple[Change, ...]:
    """Return what a stack of a release has with these parameters.

    Raises:
        CommandError: a condition of its template cannot be read.
    """
    resources: Mapping[str, JsonObject] = release.document["Resources"]
    with _evaluated(release, chosen) as holds:

        def is_made(one: Created) -> bool:
            if one.of and one.of not in resources:
                return False
            return holds(resources[one.of].get("Condition", "") if one.of else one.condition)

        return tuple(Change(Action.CREATED, one.name, one.type) for one in release.creates if is_made(one))


def rights_of(release: Release, chosen: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Return what such a stack allows its roles: the resource that has the policy, and the action.

    Not what SAM adds for dead letters, logs and X-Ray.

    Raises:
        CommandError: a condition of its template cannot be read.
    """
    resources: Mapping[str, JsonObject] = release.document["Resources"]
    with _evaluated(release, chosen) as holds:
        return frozenset(
            (name, action)
            for name, body in resources.items()
            if body.get("Type") in _WITH_POLICIES and holds(body.get("Condition", ""))
            for action in _allowed(body.get("Properties"), holds)
        )


def _allowed(value: Json, holds: Callable[[str], bool]) -> Iterator[str]:
    """Yield the actions of the statements in a value, of each `Fn::If` from the branch that is taken."""
    match value:
        case {"Fn::If": [str(condition), one, other]}:
            yield from _allowed(one if holds(condition) else other, holds)
        case {"Effect": "Allow", "Action": actions, "Resource": _}:
            yield from map(str, as_list(actions) or [actions])
        case _:
            for one in (*as_list(value), *as_object(value).values()):
                yield from _allowed(one, holds)


@contextmanager
def _evaluated(release: Release, chosen: Mapping[str, str]) -> Generator[Callable[[str], bool]]:
    """Tell whether a condition of the template holds, by its name; an empty name always does.

    Raises:
        CommandError: a condition cannot be read.
    """
    conditions: JsonObject = release.document.get("Conditions", {})
    resolver = Resolver(_values(release, chosen))
    try:
        yield lambda name: not name or _holds(conditions[name], conditions, resolver)
    except (LookupError, ValueError, RecursionError) as error:
        raise CommandError(f"The release has a condition that cannot be read ({error}): fetch it again.") from None


def _values(release: Release, chosen: Mapping[str, str]) -> dict[str, Json]:
    given = {name: chosen.get(name, str(one.get("Default", ""))) for name, one in release.parameters.items()}
    lists = {name for name, one in release.parameters.items() if "List" in one["Type"]}
    return {name: list[Json](text.split(",")) if name in lists else text for name, text in given.items()}


def _holds(value: Json, conditions: JsonObject, resolver: Resolver) -> bool:
    """Evaluate a condition as CloudFormation does."""
    match value:
        case {"Condition": str(name)}:
            return _holds(conditions[name], conditions, resolver)
        case {"Fn::Not": [one]}:
            return not _holds(one, conditions, resolver)
        case {"Fn::And": [*some]}:
            return all(_holds(one, conditions, resolver) for one in some)
        case {"Fn::Or": [*some]}:
            return any(_holds(one, conditions, resolver) for one in some)
        case {"Fn::Equals": [one, other]}:
            return resolver.text(one) == resolver.text(other)
        case _:
            raise ValueError(str(value)[:100])
