"""What a template does not give a state machine that asks its caller: substitutions, and the right to invoke.

The rule: only what the template shows to be missing is told. A role of another stack, a policy that is not written here
and a resource that only a deployment knows may each give the right.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from stepwire.json_text import Json, JsonObject, as_list, as_object, objects_in, write
from stepwire.manifests.definitions import PlacedState, given_to
from stepwire_wrap.definitions.asking import SUBSTITUTIONS
from stepwire_wrap.definitions.questions import places_of_questions
from stepwire_wrap.files.templates import FoundMachine, Template

_NAME: Final = re.compile(r"\$\{(\w+)")
_WHOLE: Final = re.compile(r"\$\{(\w+)\}")
_OF_AWS: Final = re.compile(r"(.*::aws:policy/)?[\w+=,.@/-]+")  # policies whose contents everybody knows
_MAY_INVOKE: Final = re.compile(r"Lambda|Administrator|PowerUser")
_INVOKE: Final = "lambda:invokefunction"
_POLICIES: Final = ("AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::ManagedPolicy")


def lacks_of(found: FoundMachine) -> Iterator[tuple[PlacedState, str, str]]:
    """Yield each state that asks and cannot: where it is, what is missing, and what to write."""
    if found.template is None:
        return
    machine = found.template.resources[found.logical_id]
    for place in places_of_questions(found.definition):
        function = str(given_to(place.state).get("FunctionName", ""))
        missing = [*_unknown(found.template, machine, f"{place.state.get('Resource')} {function}")]
        for name in missing:
            value = SUBSTITUTIONS.get(name, "what it stands for")
            yield place, f"${{{name}}} is not substituted", f"add {name}: {value} to DefinitionSubstitutions"
        is_computed = not function or function.startswith("{%")
        if not missing and not is_computed and not _may_invoke(found.template, machine, function):
            what = f"the role may not invoke {function}, so the state fails when its retries end, after minutes"
            yield place, what, "allow lambda:InvokeFunction on that function in its role, or in its Policies"


def _unknown(template: Template, machine: JsonObject, text: str) -> Iterator[str]:
    """Yield the placeholders that nothing replaces; whatever the state machine names is one of its references."""
    given = write(machine)
    for name in dict.fromkeys(_WHOLE.findall(text)):
        if f'"{name}"' not in given and not template.knows(name):
            yield name


def _may_invoke(template: Template, machine: JsonObject, function: str) -> bool:
    """Tell whether a state machine may invoke a function, as far as its template says; True if it does not say."""
    policies = _policies(template, machine)
    if policies is None:
        return True
    return any(_allows(template, one, function) for policy in policies for one in _statements(policy))


def _policies(template: Template, machine: JsonObject) -> list[JsonObject] | None:
    """Return the policies of a state machine's role; None if others may be attached to it."""
    properties = _properties(template, machine)
    if "Role" not in properties and machine.get("Type") == "AWS::Serverless::StateMachine":
        return _written(properties.get("Policies"))
    named = _NAME.match(str(properties.get("Role", properties.get("RoleArn"))))
    resource = template.resources.get(named[1] if named is not None else "", {})
    if resource.get("Type") != "AWS::IAM::Role":
        return None
    own = _properties(template, resource)
    attached = [_properties(template, one) for one in template.resources.values() if one.get("Type") in _POLICIES]
    others = _written(own.get("ManagedPolicyArns"))
    inline = [as_object(one.get("PolicyDocument")) for one in (*objects_in(own.get("Policies")), *attached)]
    return None if others is None else [*others, *inline]


def _properties(template: Template, resource: JsonObject) -> JsonObject:
    return as_object(template.resolver.value(resource.get("Properties")))


def _written(value: Json) -> list[JsonObject] | None:
    """Return the policies that are written out; None if one of the others may be about functions."""
    policies = as_list(value) or [value]
    for one in policies:
        if isinstance(one, str) and (not _OF_AWS.fullmatch(one) or _MAY_INVOKE.search(one)):
            return None
    return objects_in(policies)


def _statements(policy: JsonObject) -> list[JsonObject]:
    """Return the statements of a policy; SAM's own template of a policy with this right stands for one."""
    if "LambdaInvokePolicy" not in policy:
        return objects_in(policy.get("Statement"))
    function = as_object(policy["LambdaInvokePolicy"]).get("FunctionName")
    return [{"Effect": "Allow", "Action": _INVOKE, "Resource": function}]


def _allows(template: Template, statement: JsonObject, function: str) -> bool:
    actions, resources = (_texts(statement.get(name)) for name in ("Action", "Resource"))
    is_invoking = "NotAction" in statement or any(fnmatchcase(_INVOKE, one.lower()) for one in actions)
    is_there = "NotResource" in statement or any(one == function or _is_open(template, one) for one in resources)
    return statement.get("Effect") == "Allow" and is_invoking and is_there


def _is_open(template: Template, resource: str) -> bool:
    """Tell whether a resource may be the function: it is none of this template's own."""
    named = _NAME.match(resource)
    return named is None or named[1] not in template.resources


def _texts(value: Json) -> list[str]:
    return [one for one in as_list(value) or [value] if isinstance(one, str)]
