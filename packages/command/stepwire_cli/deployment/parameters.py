"""The parameters that a deployment may set: the core's on one screen, an extra's with the extra, or one. Pure.

The rule: the screen of the core has 24 lines of 80 columns at most, so it has names and defaults only.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from stepwire.json_text import JsonObject
from stepwire_cli.deployment.parts import part_of
from stepwire_cli.deployment.release import Release
from stepwire_cli.exits import CommandError

OF_THE_COMMAND: Final = ("ArtifactBucket", "ArtifactPrefix")
"""The parameters that the command sets."""
_WIDTH: Final = 80


@dataclass(frozen=True)
class Parameter:
    """A parameter, and where it belongs."""

    name: str
    extra: str
    """Name of the extra that brings it; empty: it is the core's."""
    group: str
    body: Mapping[str, Any]

    @property
    def setting(self) -> str:
        """The name with the default, where there is one."""
        default = str(self.body.get("Default", ""))
        return f"{self.name}={default}" if default else self.name

    def explained(self) -> Iterator[str]:
        """Yield its default, the values it may have, and what it is for."""
        values = ", ".join(str(one) for one in self.body.get("AllowedValues", ()))
        needed = "" if "Default" in self.body else "no default: give it one"
        yield f"{self.setting}{''.join(f'  ({one})' for one in (values, needed) if one)}"
        words = " ".join(str(self.body["Description"]).split())
        yield from textwrap.wrap(words, _WIDTH, initial_indent="    ", subsequent_indent="    ")


def parameters_of(release: Release) -> list[Parameter]:
    """Return the parameters of a release with all its extras, in the groups of the template."""
    release = release.with_extras(release.extras)
    shown: Mapping[str, Any] = release.document.get("Metadata", {}).get("AWS::CloudFormation::Interface", {})
    groups: Sequence[Any] = shown.get("ParameterGroups", ())
    owners = _owners(release)
    group_of = {name: _title(group["Label"]["default"]) for group in groups for name in group["Parameters"]}
    names = dict.fromkeys((*group_of, *release.parameters))
    return [
        Parameter(name, owners.get(name, ""), group_of.get(name, "Others"), release.parameters[name])
        for name in names
        if name in release.parameters and name not in OF_THE_COMMAND
    ]


def _owners(release: Release) -> dict[str, str]:
    """Return the extra that brings each parameter which is not the core's."""
    core = part_of(release.core, "the core").get("Parameters", {})
    parts: dict[str, JsonObject] = {
        extra: part_of(release.parts[path], path)
        for extra in release.extras
        if (path := f"{extra}/template.yaml") in release.parts
    }
    return {name: extra for extra, part in parts.items() for name in part.get("Parameters", {}) if name not in core}


def _title(label: str) -> str:
    return label.partition(" (")[0]


def screen_of_the_core(found: Sequence[Parameter]) -> Iterator[str]:
    """Yield the core's parameters in groups, with their defaults, and the extras that have more."""
    own = [one for one in found if not one.extra]
    for group in dict.fromkeys(one.group for one in own):
        yield f"{group}:"
        yield from _filled([one.setting for one in own if one.group == group])
    if extras := sorted({one.extra for one in found} - {""}):
        yield "More with the extras:"
        yield from _filled(extras)
    yield "Explained: stepwire deploy --parameters NAME, of a parameter or an extra."


def _filled(words: Sequence[str]) -> list[str]:
    line, *more = words
    lines = [f"  {line}"]
    for word in more:
        if len(lines[-1]) + 2 + len(word) <= _WIDTH:
            lines[-1] += f"  {word}"
        else:
            lines.append(f"  {word}")
    return lines


def explained(release: Release, found: Sequence[Parameter], word: str) -> Iterator[str]:
    """Yield what a parameter is for, or what the parameters of an extra are.

    Raises:
        CommandError: there is neither of this name.
    """
    if word in release.extras:
        yield f"{word}: {release.extras[word].description}"
        chosen = [one for one in found if one.extra == word]
        if not chosen:
            yield "It has no parameters."
    elif not (chosen := [one for one in found if one.name.lower() == word.lower()]):
        names = {name.lower(): name for name in (*(one.name for one in found), *release.extras)}
        near = get_close_matches(word.lower(), names, 1)
        hint = f"Did you mean {names[near[0]]}?" if near else "`stepwire deploy --parameters` lists those there are."
        raise CommandError(f"Version {release.version} has no parameter and no extra {word}. {hint}")
    for one in chosen:
        yield from one.explained()


def as_json(found: Sequence[Parameter]) -> list[dict[str, Any]]:
    """Return the parameters as JSON."""
    return [
        {
            "name": one.name,
            "extra": one.extra or None,
            "group": one.group,
            "default": one.body.get("Default"),
            "values": list(one.body.get("AllowedValues", ())),
            "description": " ".join(str(one.body["Description"]).split()),
        }
        for one in found
    ]
