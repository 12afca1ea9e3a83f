"""The simulated account beside an endpoint that is served: what its operators' commands ask AWS.

CloudFormation is not simulated, so the stacks answer for it: the two calls that find a stack's resources, outputs and
parameters, in the query protocol. The rule: whatever is served here is served on 127.0.0.1 alone.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import parse_qs
from xml.etree import ElementTree as ET

from stepwire_local.account.services import SERVED, Services
from stepwire_local.cloudformation.deployment import Deployment
from stepwire_local.errors import PortInUse
from stepwire_local.gateway.http_api import Response
from stepwire_local.gateway.server import HOST, listen, serving
from stepwire_local.stack import LocalStack

OPERATED: Final = (*SERVED, "iam", "lambda", "logs", "s3", "sts")
_ACTIONS: Final = ("DescribeStacks", "DescribeStackResource")
_NAMESPACE: Final = "http://cloudformation.amazonaws.com/doc/2010-05-15/"


@contextmanager
def account_of(stack: LocalStack) -> Generator[str]:
    """Serve the account of a stack that runs, on the next port or, if that is taken, on a free one; yield its URL."""
    try:
        listener = listen(stack.port + 1)
    except PortInUse:
        listener = listen(0)
    url = f"http://{HOST}:{listener.getsockname()[1]}"
    services = Services(HOST, stack.region, OPERATED, {"cloudformation": Stacks(stack.deployments)})
    with serving(services, listener):
        yield url


class Stacks:
    """CloudFormation, as far as stacks are looked up there."""

    def __init__(self, deployments: Sequence[Deployment]) -> None:
        self._deployments = {named: one for one in deployments for named in (one.name, one.world.stack_id)}

    def __call__(self, body: bytes) -> Response:
        """Answer DescribeStacks of one stack, and DescribeStackResource."""
        asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        action, name = asked.get("Action", ""), asked.get("StackName", "")
        if action not in _ACTIONS:
            return _error(f"{action} is not served here; {' and '.join(_ACTIONS)} are", "InvalidAction")
        stack = self._deployments.get(name)
        if stack is None:
            return _error(f"Stack with id {name} does not exist")
        if action == "DescribeStacks":
            return _answer(action, _list("Stacks", [_of_a_stack(stack)]))
        return _of_a_resource(stack, asked.get("LogicalResourceId", ""))


def _of_a_stack(stack: Deployment) -> Sequence[ET.Element]:
    return (
        _text("StackName", stack.name),
        _text("StackId", stack.world.stack_id),
        _text("StackStatus", "CREATE_COMPLETE"),
        _list("Outputs", [_pair("Output", *one) for one in stack.outputs.items()]),
        _list("Parameters", [_pair("Parameter", *one) for one in stack.parameters.items()]),
    )


def _of_a_resource(stack: Deployment, logical_id: str) -> Response:
    found = stack.physical_ids.get(logical_id)
    if found is None:
        return _error(f"Resource {logical_id} does not exist for stack {stack.name}")
    facts = (_text("LogicalResourceId", logical_id), _text("PhysicalResourceId", found))
    return _answer("DescribeStackResource", _element("StackResourceDetail", facts))


def _pair(kind: str, name: str, value: str) -> Sequence[ET.Element]:
    return _text(f"{kind}Key", name), _text(f"{kind}Value", value)


def _answer(action: str, content: ET.Element) -> Response:
    return _response(200, _element(f"{action}Response", [_element(f"{action}Result", [content])]))


def _error(message: str, code: str = "ValidationError") -> Response:
    error = _element("Error", [_text("Type", "Sender"), _text("Code", code), _text("Message", message)])
    return _response(400, _element("ErrorResponse", [error]))


def _response(status: int, root: ET.Element) -> Response:
    root.set("xmlns", _NAMESPACE)
    return Response(status, [("content-type", "text/xml")], ET.tostring(root, encoding="utf-8"))


def _list(name: str, members: Sequence[Sequence[ET.Element]]) -> ET.Element:
    return _element(name, [_element("member", one) for one in members])


def _element(name: str, children: Sequence[ET.Element]) -> ET.Element:
    element = ET.Element(name)
    element.extend(children)
    return element


def _text(name: str, text: str) -> ET.Element:
    element = ET.Element(name)
    element.text = text
    return element
