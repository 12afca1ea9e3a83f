"""Creates the resources of a template in the simulated account, in the order of their references, and changes them.

The rules: a cycle of references is an error that names the cycle; resource types that are not served are noted. What
is there already and has not changed is left alone; what the template no longer has is removed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ParamValidationError

from stepwire_local.cloudformation.dynamic_references import resolve_dynamic
from stepwire_local.cloudformation.intrinsics import NO_VALUE, check_rules, holds, resolve
from stepwire_local.cloudformation.parameters import ParameterValue
from stepwire_local.cloudformation.resources import KINDS
from stepwire_local.cloudformation.resources.kinds import NOT_SERVED, Change, Created, Kind, Resource, World
from stepwire_local.cloudformation.template import Template
from stepwire_local.errors import TemplateError

# What calls a stack beside the endpoint from outside; its workflows do without.
_CALLED_FROM_OUTSIDE = ("AWS::ApiGateway::", "AWS::ApiGatewayV2::", "AWS::Lambda::EventSourceMapping")


@dataclass(frozen=True)
class _NotServed(Created):
    """Placeholder for a resource whose type is not served."""


@dataclass(frozen=True)
class Made:
    """A resource that is there."""

    resource: Resource
    created: Created

    @property
    def is_served(self) -> bool:
        """Return whether its type is served."""
        return not isinstance(self.created, _NotServed)


class Provisioner:
    """Brings one stack to the state of its template, once. It is also the `Lookup` for the intrinsic functions.

    Args:
        made: The resources that are there, by logical id; kept up to date.
        left: Those that the template no longer has and that cannot be removed, likewise: one that comes back is there.
    """

    def __init__(
        self,
        template: Template,
        parameters: Mapping[str, ParameterValue],
        world: World,
        made: dict[str, Made],
        left: dict[str, Made],
    ) -> None:
        self._template = template
        self._parameters = parameters
        self._world = world
        self._there = made
        self._left = left
        self._created: dict[str, Created] = {}
        self._creating: list[str] = []
        self._empty: dict[str, set[str]] = {}  # parameters without a value that a resource refers to, by logical id
        self.changed: list[str] = []
        self._pseudo = {
            "AWS::AccountId": world.account,
            "AWS::NotificationARNs": "",
            "AWS::Partition": "aws",
            "AWS::Region": world.region,
            "AWS::StackId": world.stack_id,
            "AWS::StackName": world.stack,
            "AWS::URLSuffix": "amazonaws.com",
        }

    def run(self) -> dict[str, str]:
        """Check the rules, create, change and remove resources, and return the outputs.

        Raises:
            TemplateError: the template or its parameters cannot be served.
        """
        self._check_rules()
        for name in self._template.section("Resources"):
            if self._is_wanted(name):
                self._create(name)
        for name in [name for name in self._there if name not in self._created]:
            self._remove(name)
        outputs = self._template.section("Outputs")
        return {
            name: str(resolve(output["Value"], self)) for name, output in outputs.items() if self._holds_for(output)
        }

    def reference(self, name: str) -> Any:
        """Return what Ref gives."""
        if name in self._pseudo:
            return self._pseudo[name]
        if name in self._parameters:
            if not self._parameters[name]:
                self._empty.setdefault(self._creator(), set()).add(name)
            return self._parameters[name]
        return self._create(name).reference

    def attribute(self, name: str, attribute: str) -> Any:
        """Return what Fn::GetAtt gives."""
        created = self._create(name)
        if isinstance(created, _NotServed):
            return f"{name}.{attribute}{NOT_SERVED}"
        if attribute in created.attributes:
            return created.attributes[attribute]
        if self._world.is_endpoint:
            raise TemplateError(f"{name} has no attribute {attribute} here.")
        self._world.notes.append(f"{name}: its attribute {attribute} is not served")
        return f"{name}.{attribute}{NOT_SERVED}"

    def imported(self, name: str) -> str:
        """Return what Fn::ImportValue gives: no stack exports anything here."""
        self._world.notes.append(f"the export {name} of another stack is not served")
        return f"{name}{NOT_SERVED}"

    def mapped(self, name: str, key: str, attribute: str) -> Any:
        """Return what Fn::FindInMap gives."""
        try:
            return self._template.section("Mappings")[name][key][attribute]
        except KeyError:
            raise TemplateError(f"The template has no mapping {name} with {key} and {attribute}.") from None

    def condition(self, name: str) -> bool:
        """Return whether a named condition holds."""
        conditions = self._template.section("Conditions")
        if name not in conditions:
            raise TemplateError(f"The template has no condition {name}.")
        return holds(conditions[name], self)

    def _take_note(self, kind: Kind, resource: Resource) -> None:
        if kind.note:
            self._world.differences.append(kind.note)
        if ignored := kind.ignored(resource):
            self._world.notes.append(f"{resource.logical_id}: {resource.kind} ignores {', '.join(ignored)}")

    def _check_rules(self) -> None:
        rules = self._template.section("Rules")
        check_rules(rules)
        for rule in rules.values():
            if "RuleCondition" in rule and not holds(rule["RuleCondition"], self):
                continue
            for assertion in rule.get("Assertions", ()):
                if not holds(assertion["Assert"], self):
                    raise TemplateError(assertion.get("AssertDescription", "A rule of the template does not hold."))

    def _is_wanted(self, name: str) -> bool:
        return self._holds_for(self._template.section("Resources")[name])

    def _holds_for(self, entry: Mapping[str, Any]) -> bool:
        return "Condition" not in entry or self.condition(entry["Condition"])

    def _create(self, name: str) -> Created:
        if name not in self._created:
            self._check_can_be_created(name)
            self._creating.append(name)
            self._created[name] = self._made(name)
            self._creating.pop()
        return self._created[name]

    def _check_can_be_created(self, name: str) -> None:
        """Check that 1. the resource exists, 2. its condition holds, 3. it does not depend on itself."""
        if name not in self._template.section("Resources"):
            raise TemplateError(f"{self._creator()} refers to {name}, which the template does not have.")
        if not self._is_wanted(name):
            raise TemplateError(f"{self._creator()} refers to {name}, whose condition does not hold.")
        if name in self._creating:
            circle = self._creating[self._creating.index(name) :]
            raise TemplateError(f"Circular dependency: {' -> '.join([*circle, name])}")

    def _creator(self) -> str:
        return self._creating[-1] if self._creating else "The template"

    def _made(self, name: str) -> Created:
        entry: Mapping[str, Any] = self._template.section("Resources")[name]
        depends: str | list[str] = entry.get("DependsOn", [])
        for needed in [depends] if isinstance(depends, str) else depends:
            if self._is_wanted(needed):
                self._create(needed)
        resource = self._resolved(name, entry)
        before = self._there.get(name) or self._left.get(name)
        is_same = before is not None and before.resource == resource
        if not is_same or name not in self._there:
            self._there[name] = before if before and is_same else Made(resource, self._applied(resource, before))
            self._left.pop(name, None)
            self.changed.append(name)
        return self._there[name].created

    def _resolved(self, name: str, entry: Mapping[str, Any]) -> Resource:
        kind, code = KINDS.get(entry["Type"]), self._template.signatures.get(name, "")
        if kind is None:  # nothing of it is used, so nothing of it must be understood
            return Resource(name, entry["Type"], entry.get("Properties", {}), code)
        try:
            found = resolve_dynamic(resolve(entry.get("Properties", {}), self), self._world.client)
        except TemplateError as error:
            if self._creator() != name or name in str(error):  # it says where
                raise
            raise TemplateError(f"{name}: {error}") from error
        properties: Mapping[str, Any] = {} if found is NO_VALUE else found
        stub = kind.stub(name, properties, self._world) if kind.stub is not None else ""
        return Resource(name, entry["Type"], properties, code + stub, entry.get("Metadata") or {})

    def _applied(self, resource: Resource, before: Made | None) -> Created:
        kind = KINDS.get(resource.kind)
        if kind is None:
            self._world.notes.append(f"{resource.logical_id}: {resource.kind} is not served")
            return _NotServed(f"{resource.logical_id}{NOT_SERVED}")
        self._take_note(kind, resource)
        try:
            return self._tried(kind, resource, before)
        except TemplateError as error:
            is_outside = not self._world.is_endpoint and resource.kind.startswith(_CALLED_FROM_OUTSIDE)
            if not is_outside and (before is not None or not kind.can_be_spared):
                raise
            self._world.notes.append(f"{error} {resource.kind} is not served so.")
            return _NotServed(f"{resource.logical_id}{NOT_SERVED}")

    def _tried(self, kind: Kind, resource: Resource, before: Made | None) -> Created:
        try:
            return kind.create(resource, self._world) if before is None else self._updated(kind, resource, before)
        except (ClientError, ParamValidationError) as error:
            hint = self._hint_at_parameters(resource.logical_id)
            raise TemplateError(f"{resource.logical_id}: {' '.join(str(error).split())}{hint}") from error
        except KeyError as error:
            raise TemplateError(f"{resource.logical_id}: {resource.kind} needs the property {error}.") from error

    def _hint_at_parameters(self, logical_id: str) -> str:
        """Return what to do where a resource is refused that refers to empty parameters, for they may be why."""
        names = sorted(self._empty.get(logical_id, ()))
        options = " ".join(f"--parameter {name}=..." for name in names)
        return f" It refers to {' and '.join(names)}, without a value: give {options}" if names else ""

    def _updated(self, kind: Kind, resource: Resource, before: Made) -> Created:
        if kind.update is None or before.resource.kind != resource.kind:
            raise TemplateError(f"{resource.logical_id}: a change of {resource.kind} is taken over by a restart only.")
        return kind.update(Change(before.resource, resource, before.created), self._world)

    def _remove(self, name: str) -> None:
        gone = self._there.pop(name)
        kind = KINDS.get(gone.resource.kind)
        if kind is not None and kind.remove is not None:
            kind.remove(gone.resource, gone.created, self._world)
        elif gone.is_served:
            self._left[name] = gone
        self.changed.append(name)
