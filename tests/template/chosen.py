"""The template evaluated with parameters: the stack that it describes."""

from dataclasses import dataclass
from typing import Any, Final

from stepwire_local.cloudformation.intrinsics import holds, resolve
from stepwire_local.cloudformation.parameters import ParameterValue, parameter_values
from tests.extras import parts
from tests.template.document import declared, template
from tests.template.of_extras import InTemplate

STACK: Final = {
    # The longest possible value, with capitals, as that of a nested stack has.
    "AWS::StackName": "P" * 128,
    "AWS::StackId": "arn:aws:cloudformation:eu-central-1:123456789012:stack/prod/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
}
GIVEN: Final = {
    "jwt": {"JwtIssuer": "https://issuer.example", "JwtAudience": "stepwire"},
    "cognito": {},
    "iam": {},
    "none": {},
}
CHOICES: Final = tuple(GIVEN)
"""Of the parameter Authorizer."""
IN_TEMPLATE: Final[list[InTemplate]] = [part.TEMPLATE for part in parts("template")]
OFF: Final = {name: value for part in IN_TEMPLATE for name, value in part.off.items()}
"""The parameters that switch off the extras that have parts of a stack."""
ON: Final = {name: value for part in IN_TEMPLATE for name, value in part.on.items()}
"""The parameters that switch these on."""
USUAL: Final = {name: ON[name] for name in OFF}
"""The parameters of those that are on by default, as they are then."""
ENDPOINT: Final = "Api.ApiEndpoint/mcp"
SERVER_ROUTE: Final = "GET /.well-known/oauth-authorization-server"


@dataclass(frozen=True)
class Stack:
    """The template evaluated with parameters. The Ref of a resource is its id; an attribute is the id and its name."""

    parameters: dict[str, ParameterValue]

    def reference(self, name: str) -> Any:
        """Return the value of a parameter, or the id of a resource, which must exist."""
        if name in STACK:
            return STACK[name]
        if name.startswith("AWS::") or name in self.parameters:
            return self.parameters.get(name, name)
        return self._found(name)

    def attribute(self, name: str, attribute: str) -> Any:
        """Return the name of an attribute of a resource, which must exist."""
        return f"{self._found(name)}.{attribute}"

    def imported(self, name: str) -> str:
        """Return the name of an export: the template imports nothing whose value counts."""
        return name

    def mapped(self, name: str, key: str, attribute: str) -> Any:
        """Return a value of a mapping."""
        return template()["Mappings"][name][key][attribute]

    def condition(self, name: str) -> bool:
        """Tell whether a condition is true."""
        return holds(template()["Conditions"][name], self)

    def has(self, name: str) -> bool:
        """Tell whether a resource or an output exists."""
        body = template()["Resources"].get(name) or template()["Outputs"][name]
        return "Condition" not in body or self.condition(body["Condition"])

    def statements(self, function: str) -> list[Any]:
        """Return what the policies of a function allow, the core's first."""
        return [one for policy in self.properties(function)["Policies"] for one in policy["Statement"]]

    def properties(self, name: str) -> dict[str, Any]:
        """Return the properties of a resource."""
        return resolve(template()["Resources"][name].get("Properties", {}), self)

    def all_of(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the properties of all resources of a type."""
        return {
            name: self.properties(name)
            for name, body in template()["Resources"].items()
            if body["Type"] == kind and self.has(name)
        }

    def routes(self) -> dict[str, dict[str, Any]]:
        """Return the routes by their keys."""
        return {route["RouteKey"]: route for route in self.all_of("AWS::ApiGatewayV2::Route").values()}

    def variables(self, function: str) -> dict[str, Any]:
        """Return the environment of a function."""
        return self.properties(function)["Environment"]["Variables"]

    def output(self, name: str) -> Any:
        """Return the value of an output."""
        return resolve(template()["Outputs"][name]["Value"], self)

    def _found(self, name: str) -> str:
        assert self.has(declared(name)), f"{name} is referenced, but its condition is false"
        return name


def stack(authorizer: str, **given: str) -> Stack:
    """Return the stack for this choice of sign-in; its rules must allow it."""
    values = parameter_values(template()["Parameters"], {"Authorizer": authorizer, **GIVEN[authorizer], **given})
    made = Stack(values)
    for rule in template()["Rules"].values():
        if holds(rule["RuleCondition"], made):
            for assertion in rule["Assertions"]:
                assert holds(assertion["Assert"], made), assertion["AssertDescription"]
    return made
