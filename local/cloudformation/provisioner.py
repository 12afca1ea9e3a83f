"""Creates the resources of a template in the simulated account, in the order of their references.

The rules: a cycle of references is an error that names the cycle; resource types that are not served are noted.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ParamValidationError

from local.cloudformation.intrinsics import NO_VALUE, holds, resolve
from local.cloudformation.parameters import ParameterValue
from local.cloudformation.resources import KINDS
from local.cloudformation.resources.kinds import Created, Kind, Resource, World
from local.cloudformation.template import Template
from local.errors import TemplateError


@dataclass(frozen=True)
class _NotServed(Created):
    """Placeholder for a resource whose type is not served."""


class Provisioner:
    """Creates one stack, once. It is also the `Lookup` for the template's intrinsic functions."""

    def __init__(self, template: Template, parameters: Mapping[str, ParameterValue], world: World) -> None:
        self._template = template
        self._parameters = parameters
        self._world = world
        self._created: dict[str, Created] = {}
        self._creating: list[str] = []
        self._pseudo = {
            "AWS::AccountId": world.account,
            "AWS::NotificationARNs": "",
            "AWS::Partition": "aws",
            "AWS::Region": world.region,
            "AWS::StackId": world.arn("cloudformation", f"stack/{world.stack}/{uuid.uuid4()}"),
            "AWS::StackName": world.stack,
            "AWS::URLSuffix": "amazonaws.com",
        }

    def run(self) -> dict[str, str]:
        """Check the rules, create every resource, and return the outputs.

        Raises:
            TemplateError: the template or its parameters cannot be served.
        """
        self._check_rules()
        for name in self._template.section("Resources"):
            if self._is_wanted(name):
                self._create(name)
        outputs = self._template.section("Outputs")
        return {
            name: str(resolve(output["Value"], self)) for name, output in outputs.items() if self._holds_for(output)
        }

    @property
    def physical_ids(self) -> dict[str, str]:
        """Map the logical id of each created resource to its physical id, the value of Ref."""
        made = {name: one for name, one in self._created.items() if not isinstance(one, _NotServed)}
        return {name: created.reference for name, created in made.items()}

    def reference(self, name: str) -> Any:
        """Return what Ref gives."""
        if name in self._pseudo:
            return self._pseudo[name]
        if name in self._parameters:
            return self._parameters[name]
        return self._create(name).reference

    def attribute(self, name: str, attribute: str) -> Any:
        """Return what Fn::GetAtt gives."""
        created = self._create(name)
        if isinstance(created, _NotServed):
            return f"{name}.{attribute}-is-not-served-locally"
        if attribute not in created.attributes:
            raise TemplateError(f"{name} has no attribute {attribute} here.")
        return created.attributes[attribute]

    def condition(self, name: str) -> bool:
        """Return whether a named condition holds."""
        conditions = self._template.section("Conditions")
        if name not in conditions:
            raise TemplateError(f"The template has no condition {name}.")
        return holds(conditions[name], self)

    def _take_note(self, kind: Kind, resource: Resource) -> None:
        if kind.note:
            self._world.notes.append(kind.note)
        if ignored := kind.ignored(resource):
            self._world.notes.append(f"{resource.logical_id}: {resource.kind} ignores {', '.join(ignored)}")

    def _check_rules(self) -> None:
        for rule in self._template.section("Rules").values():
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
        kind = KINDS.get(entry["Type"])
        if kind is None:
            self._world.notes.append(f"{name}: {entry['Type']} is not served")
            return _NotServed(f"{name}-is-not-served-locally")
        properties = resolve(entry.get("Properties", {}), self)
        resource = Resource(name, entry["Type"], {} if properties is NO_VALUE else properties)
        self._take_note(kind, resource)
        try:
            return kind.create(resource, self._world)
        except (ClientError, ParamValidationError) as error:
            raise TemplateError(f"{name}: {' '.join(str(error).split())}") from error
        except KeyError as error:
            raise TemplateError(f"{name}: {entry['Type']} needs the property {error}.") from error
