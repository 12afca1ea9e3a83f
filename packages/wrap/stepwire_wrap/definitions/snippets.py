"""The lines that register a tool, for each of the tools that make stacks: a tag and a parameter (docs/adopting.md)."""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from stepwire.manifests.registration import CONSENT, CONSENT_TOOLS
from stepwire.tasks.task import unqualified
from stepwire_wrap.definitions.asking import INPUT_REQUESTS, SUBSTITUTIONS
from stepwire_wrap.definitions.drafts import Draft

_INDENT: Final = "        "
_RIGHT_TO_ASK: Final = f"""\
    DefinitionSubstitutions:  # add these two with the lines of a state that asks
      Partition: {SUBSTITUTIONS["Partition"]}
      InputRequestsFunctionArn: {INPUT_REQUESTS}
    Policies:  # add this statement; to those of its Role, if it has one
      - Statement:
          - Effect: Allow
            Action: lambda:InvokeFunction
            Resource: {INPUT_REQUESTS}
"""


class Tool(Enum):
    """What makes the owner's stack."""

    SAM = "sam"
    CDK = "cdk"
    TERRAFORM = "terraform"
    SERVERLESS = "serverless"


def snippet(draft: Draft, endpoint: str, tool: Tool) -> str:
    """Return the lines that register a draft with an endpoint."""
    if not draft.machine.role:
        return _SNIPPETS[tool](draft, endpoint)
    mark = "//" if tool is Tool.CDK else "#"
    machine = unqualified(draft.machine.arn)[0]
    owner = f"{mark} Its owner tags {machine},\n{mark} in its own account and Region: {CONSENT}={endpoint}\n"
    return f"{owner}{_of_the_tool(_SNIPPETS[tool](draft, endpoint), tool)}"


def _of_the_tool(text: str, tool: Tool) -> str:
    """Return the lines that register a tool, without those of its state machine, which is of another stack."""
    start = {Tool.SAM: "\n\n", Tool.CDK: ";\n", Tool.TERRAFORM: "}\n\n", Tool.SERVERLESS: "\n\n"}[tool]
    return text.partition(start)[2]


def parameter_name(endpoint: str, tool: str) -> str:
    """Return the name of the parameter that registers a tool."""
    return f"/stepwire/{endpoint}/tools/{tool}"


def _sam(draft: Draft, endpoint: str) -> str:
    name = _name_in_sam(draft)
    is_there = "Endpoint" in draft.machine.parameters
    given = "" if is_there else f"  # a parameter of the template: Endpoint: {{Type: String, Default: {endpoint}}}"
    return f"""\
{name}:
  Type: AWS::Serverless::StateMachine  # yours, as it is
  Properties:
    Tags: {{"{CONSENT}": !Ref Endpoint}}  # add this tag; {_only(draft)}
{_RIGHT_TO_ASK if draft.proposals else ""}
{resource_of_the_tool(draft, given)}"""


def _name_in_sam(draft: Draft) -> str:
    return draft.machine.logical_id or _camel(draft.name)


def resource_of_the_tool(draft: Draft, note: str = "") -> str:
    """Return the resource that registers a draft, as YAML of a template with a parameter `Endpoint`.

    Args:
        draft: the draft.
        note: a comment to the parameter.
    """
    name = _name_in_sam(draft)
    text = _with_arn(_escaped(_referring(draft), "${", "${!"), draft, f"${{{name}}}")
    return f"""\
{name}Tool:
  Type: AWS::SSM::Parameter
  Properties:
    Name: !Sub {parameter_name("${Endpoint}", draft.name)}{note}
    Type: String
    Tier: Intelligent-Tiering
    Value: !Sub |
{_indented(text)}"""


def _cdk(draft: Draft, endpoint: str) -> str:
    text = _with_arn(re.sub(r"([`\\]|\$(?=\{))", r"\\\1", draft.compacted()), draft, "${machine.stateMachineArn}")
    return f"""\
// {_only(draft)}
cdk.Tags.of(machine).add("{CONSENT}", "{endpoint}");
new ssm.StringParameter(this, "{_camel(draft.name)}Tool", {{
  parameterName: "{parameter_name(endpoint, draft.name)}",
  tier: ssm.ParameterTier.INTELLIGENT_TIERING,
  stringValue: `{text}`,
}});
"""


def _terraform(draft: Draft, endpoint: str) -> str:
    name = re.sub(r"^(?=\d)", "workflow_", re.sub(r"\W", "_", draft.name))
    escaped = _escaped(_escaped(_referring(draft), "${", "$${"), "%{", "%%{")
    text = _with_arn(escaped, draft, f"${{aws_sfn_state_machine.{name}.arn}}")
    return f"""\
resource "aws_sfn_state_machine" "{name}" {{
  # yours, as it is
  tags = {{ "{CONSENT}" = "{endpoint}" }} # add this tag; {_only(draft)}
}}

resource "aws_ssm_parameter" "{name}_tool" {{
  name  = "{parameter_name(endpoint, draft.name)}"
  type  = "String"
  tier  = "Intelligent-Tiering"
  value = <<-MANIFEST
{_indented(text)}  MANIFEST
}}
"""


def _serverless(draft: Draft, endpoint: str) -> str:
    own = draft.machine.logical_id
    name = own if own.isalnum() else _camel(draft.name)
    text = _with_arn(_escaped(draft.compacted(), "${", "${!"), draft, f"${{{name}}}").replace("'", "''")
    return f"""\
stepFunctions:
  stateMachines:
    {own or f"{name[0].lower()}{name[1:]}"}:  # yours, as it is
      id: {name}
      tags: {{"{CONSENT}": {endpoint}}}  # add this tag; {_only(draft)}

resources:
  Resources:
    {name}Tool:
      Type: AWS::SSM::Parameter
      Properties:
        Name: {parameter_name(endpoint, draft.name)}
        Type: String
        Tier: Intelligent-Tiering
        Value: {{"Fn::Sub": '{text}'}}
"""


_SNIPPETS: Final[Mapping[Tool, Callable[[Draft, str], str]]] = {
    Tool.SAM: _sam,
    Tool.CDK: _cdk,
    Tool.TERRAFORM: _terraform,
    Tool.SERVERLESS: _serverless,
}


def _only(draft: Draft) -> str:
    """Return what the second tag, which nobody needs, is good for."""
    return f"with the tag {CONSENT_TOOLS} = {draft.name} too, no other tool may start it"


def _camel(name: str) -> str:
    words = "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))
    return words if words[:1].isalpha() else f"Workflow{words}"


def _escaped(text: str, mark: str, escaped: str) -> str:
    return text.replace(mark, escaped)


def _referring(draft: Draft) -> str:
    """Return the manifest without the comment that asks for the state machine's ARN: a snippet refers to it."""
    placeholder = draft.machine.placeholder
    return draft.parameter().replace(f"  # {placeholder}", "") if placeholder else draft.parameter()


def _with_arn(text: str, draft: Draft, reference: str) -> str:
    """Put a reference in the place of the ARN; a version or an alias stays behind it."""
    arn = re.escape(unqualified(draft.machine.arn)[0])
    found = re.search(rf"\bstate_machine\"?: ?\"?({arn})", text)
    if draft.machine.role or found is None:
        return text
    return f"{text[: found.start(1)]}{reference}{text[found.end(1) :]}"


def _indented(text: str) -> str:
    return "".join(f"{_INDENT}{line}\n" for line in text.splitlines())
