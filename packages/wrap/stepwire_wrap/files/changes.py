"""What registers a drafted tool, put into its owner's template and definition. Nothing is written here.

The rule: what is there already stays, and nothing is changed whose form is not understood: that part is named, to be
done by hand. Each changed text is read again, and must say what the old one said and what was meant to be added, or
it does not count. A state asks only if all that it needs is there.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import yaml

from stepwire.json_text import Json, JsonObject, as_list, as_object, load_json, objects_in, write
from stepwire.manifests.registration import CONSENT
from stepwire_wrap.definitions.asking import INPUT_REQUESTS, SUBSTITUTIONS, Asking, asking_instead
from stepwire_wrap.definitions.deciders import Decider, chosen_in
from stepwire_wrap.definitions.drafts import Draft
from stepwire_wrap.definitions.people import waiting_for_people
from stepwire_wrap.definitions.snippets import resource_of_the_tool
from stepwire_wrap.definitions.yaml_text import yaml_lines
from stepwire_wrap.files.positions import Edit, MappingNode, Text, called_states, member
from stepwire_wrap.files.serverless_framework import is_serverless
from stepwire_wrap.files.templates import FoundMachine, Parameter
from stepwire_wrap.files.texts import Unreadable, parsed, text_of

_SAM: Final = "AWS::Serverless::StateMachine"
_ROLE: Final = "AWS::IAM::Role"
_INVOKE: Final = "lambda:InvokeFunction"
_STATEMENT: Final = f"""\
Statement:
  - Effect: Allow
    Action: {_INVOKE}
    Resource: {INPUT_REQUESTS}
"""
_POLICY: Final = f"- {_STATEMENT.replace(chr(10), chr(10) + '  ').rstrip()}\n"
_OWN_POLICY: Final = f"""\
- PolicyName: AskThroughStepwire
  PolicyDocument:
    Version: "2012-10-17"
    {_STATEMENT.replace(chr(10), chr(10) + "    ").rstrip()}
"""


class NotUnderstood(Exception):
    """A part cannot be changed; the message says which, and why."""


@dataclass
class Rewriting:
    """Texts that are to be changed."""

    endpoint: str
    """Name of the endpoint's stack."""
    texts: dict[Path, str] = field(default_factory=dict[Path, str])
    """As they will be."""
    before: dict[Path, str] = field(default_factory=dict[Path, str])
    """As they are."""

    @property
    def changed(self) -> Mapping[Path, str]:
        """The texts that will be others."""
        return {path: text for path, text in self.texts.items() if text != self.before[path]}

    def add(self, found: FoundMachine, draft: Draft) -> list[str]:
        """Put all into the texts that registers a draft; return what is to be done by hand."""
        try:
            machine = _InATemplate(self, found, draft)
            machine.resource()
        except (NotUnderstood, Unreadable) as error:
            return [str(error)]
        left = list[str]()
        for part in (machine.endpoint_parameter, machine.tag, machine.manifest, machine.questions):
            texts = dict(self.texts)
            try:
                part()
            except (NotUnderstood, Unreadable) as error:
                self.texts = texts
                left.append(str(error))
        return list(dict.fromkeys(left))

    def text(self, path: Path) -> str:
        """Return a text as it will be, with its line ends."""
        if path not in self.texts:
            text_of(path)
            self.texts[path] = self.before[path] = path.read_bytes().decode()
        return self.texts[path]

    def put(self, path: Path, edit: Edit, wanted: Json, what: str) -> None:
        """Change a text, if it then has the value that is wanted.

        Raises:
            NotUnderstood: it would have another one.
        """
        changed = Text(self.text(path)).changed([edit])
        try:
            is_right = _value_of(path, changed) == wanted
        except Unreadable:
            is_right = False
        if not is_right:
            raise NotUnderstood(f"{what}: the form of {path} is not understood there")
        self.texts[path] = changed


@dataclass
class _InATemplate:
    """A state machine in the template of its owner."""

    texts: Rewriting
    found: FoundMachine
    draft: Draft

    @property
    def path(self) -> Path:
        """The template's file."""
        if self.found.template is None:
            raise NotUnderstood(
                f"{self.found.path} is in no template: name the template that deploys it, or its folder"
            )
        return self.found.template.path

    @property
    def value(self) -> JsonObject:
        """A copy of the template as it will be."""
        return as_object(deepcopy(_value_of(self.path, self.texts.text(self.path))))

    @property
    def document(self) -> Text:
        """The template's text as it will be."""
        return Text(self.texts.text(self.path))

    def resource(self) -> JsonObject:
        """Return the resource.

        Raises:
            NotUnderstood: its template is none that is written by hand.
        """
        value, name = self.value, self.found.logical_id
        if is_serverless(value):
            raise NotUnderstood(f"{self.path} is a file of the Serverless Framework, which is not changed")
        own = as_object(as_object(value.get("Resources")).get(name))
        if not as_object(own.get("Properties")):
            raise NotUnderstood(f"{self.path} has no resource {name} with Properties")
        return own

    def endpoint_parameter(self) -> None:
        """Add the parameter with the name of the endpoint's stack."""
        value = self.value
        if "Endpoint" in as_object(value.get("Parameters")):
            return
        text = (
            f"Endpoint:\n  Type: String\n  Default: {self.texts.endpoint}\n  Description: Stack of the MCP endpoint.\n"
        )
        there = member(self.document.root, "Parameters")
        if there is None:
            lines = "".join(f"  {line}\n" for line in text.splitlines())
            edit = self.document.with_section(f"Parameters:\n{lines}", "Resources")
        else:
            edit = self.document.with_member(_mapping(there, "Parameters"), text)
        value["Parameters"] = {**as_object(value.get("Parameters")), **_read(text)}
        self.texts.put(self.path, edit, value, "the parameter Endpoint")

    def tag(self) -> None:
        """Add the tag that is the owner's consent."""
        tags = as_object(self.resource()["Properties"]).get("Tags")
        if isinstance(tags, list) or self.resource().get("Type") != _SAM:
            if all(one.get("Key") != CONSENT for one in objects_in(tags)):
                self._add_item("Tags", f'- Key: "{CONSENT}"\n  Value: !Ref Endpoint\n')
        elif CONSENT not in as_object(tags):
            self._add_member("Tags", f'"{CONSENT}": !Ref Endpoint\n')

    def manifest(self) -> None:
        """Add the parameter with the manifest, behind the state machine."""
        value = self.value
        if (there := self._registered()) is not None:
            for name, chosen in chosen_in(self.draft.manifest).items():
                self._field(there, name, chosen)
            return
        text = resource_of_the_tool(self.draft)
        (name,) = made = _read(text)
        if as_object(value["Resources"]).get(name) == made[name]:
            return
        if name in as_object(value["Resources"]):
            raise NotUnderstood(f"the manifest: {self.path} has another resource {name}")
        resources = _mapping(member(self.document.root, "Resources"), "Resources")
        behind = member(resources, self.found.logical_id)
        is_spaced = not resources.flow_style
        edit = self.document.with_member(resources, f"\n{text}" if is_spaced else text, behind)
        value["Resources"] = {**as_object(value["Resources"]), **made}
        self.texts.put(self.path, edit, value, "the manifest")

    def _registered(self) -> str | None:
        """Return the logical id of the parameter that has the manifest already."""
        reference = f"${{{self.found.logical_id}}}"
        template = self.found.template
        found: list[Parameter] = [] if template is None else list(template.registered())
        return next((one.logical_id for one in found if one.path == self.draft.name or reference in one.text), None)

    def _field(self, logical_id: str, name: str, chosen: Json) -> None:
        """Add a field that was chosen to a manifest that is in the template already and does not have it."""
        value = self.value
        properties = as_object(as_object(as_object(value["Resources"]).get(logical_id)).get("Properties"))
        written = as_object(properties.get("Value")).get("Fn::Sub", properties.get("Value"))
        if isinstance(written, str) and name in _read(written):
            return
        by_hand = f"{logical_id} is there already: add {name}: {write(chosen)}"
        block = member(self._properties(logical_id), "Value")
        block = block if isinstance(block, yaml.ScalarNode) else member(block, "Fn::Sub")
        text = str(block.value) if isinstance(block, yaml.ScalarNode) and block.style == "|" else "{"
        if text.startswith("{") or not isinstance(block, yaml.ScalarNode):
            raise NotUnderstood(by_hand)
        made = f"{text.rstrip()}\n{name}: {write(chosen)}\n"
        is_substituted = isinstance(properties.get("Value"), dict)
        properties["Value"] = {"Fn::Sub": made} if is_substituted else made
        self.texts.put(self.path, self.document.instead_of_block(block, made), value, by_hand)

    def questions(self) -> None:
        """Let the states ask for which that was chosen, with all that they need."""
        chosen = self.draft.machine.choices.deciders
        asks = {name: one for name, one in chosen.items() if one is not Decider.AS_NOW}
        if not asks:
            return
        # As it is written, so that what the new state keeps of the old one keeps its references too.
        waiting = {one.place.name: one for one in waiting_for_people(self._written())}
        if unknown := [name for name in asks if name not in waiting]:
            raise NotUnderstood(f"state {unknown[0]}: what it waits for is told by references alone")
        states = [asking_instead(waiting[name], decider) for name, decider in asks.items()]
        for one in states:
            if one.left:
                raise NotUnderstood(f"state {one.name}: {'; '.join(one.left)}")
        self.manifest()  # without the others in it, a question to them is refused
        for name, text in SUBSTITUTIONS.items():
            self._substitution(name, text)
        self._right_to_ask()
        for one in states:
            self._state(one)

    def _written(self) -> JsonObject:
        """Return the definition as it is written, with its references."""
        if self.found.path != self.path:
            value = as_object(_value_of(self.found.path, self.texts.text(self.found.path)))
            return value if "States" in value else as_object(value.get("Definition", value.get("definition")))
        properties = as_object(self.resource()["Properties"])
        if "Definition" in properties:
            return as_object(properties["Definition"])
        written = properties.get("DefinitionString")
        text = as_object(written).get("Fn::Sub", written)
        return as_object(parsed(text, is_json=True)) if isinstance(text, str) else {}

    def _substitution(self, name: str, text: str) -> None:
        there = as_object(as_object(self.resource()["Properties"]).get("DefinitionSubstitutions"))
        line = f"{name}: {text}\n"
        if name not in there:
            self._add_member("DefinitionSubstitutions", line)
        elif there[name] != _read(line)[name]:
            raise NotUnderstood(f"its questions: DefinitionSubstitutions has another {name}")

    def _right_to_ask(self) -> None:
        """Add the right to invoke the function that asks: to the state machine, or to its role in the template."""
        resource = self.resource()
        properties = as_object(resource["Properties"])
        role = properties.get("Role", properties.get("RoleArn"))
        if role is None and resource.get("Type") == _SAM:
            if not _allows(properties.get("Policies")):
                self._add_item("Policies", _POLICY)
            return
        name = str(as_list(as_object(role).get("Fn::GetAtt"))[:1] or as_object(role).get("Fn::GetAtt"))
        name = name.strip("[]'").partition(".")[0]
        own = as_object(as_object(self.value["Resources"]).get(name))
        if own.get("Type") != _ROLE:
            raise NotUnderstood(
                f"its questions: its role is not in {self.path}: allow it {_INVOKE} on {INPUT_REQUESTS} yourself"
            )
        if not _allows([one.get("PolicyDocument") for one in objects_in(as_object(own["Properties"]).get("Policies"))]):
            self._add_item("Policies", _OWN_POLICY, name)

    def _state(self, asking: Asking) -> None:
        """Put a state that asks in the place of the one that waits."""
        properties = self._properties(self.found.logical_id)
        written = member(properties, "DefinitionString")
        if self.found.path == self.path and written is not None:
            self._state_in_a_text(written, asking)
            return
        path, what = self.found.path, f"state {asking.name}"
        root = member(properties, "Definition") if path == self.path else Text(self.texts.text(path)).root
        edit = _instead(Text(self.texts.text(path)), root, asking.name, asking.state, what)
        value = _value_of(path, self.texts.text(path))
        wanted = _with_state(value, asking.name, asking.state) if path != self.path else self._with_definition(asking)
        self.texts.put(path, edit, wanted, what)

    def _with_definition(self, asking: Asking) -> Json:
        value = self.value
        properties = value["Resources"][self.found.logical_id]["Properties"]
        properties["Definition"] = _with_state(properties["Definition"], asking.name, asking.state)
        return value

    def _state_in_a_text(self, written: yaml.Node, asking: Asking) -> None:
        """Put a state into a definition that is a text in the template: a literal block of JSON, perhaps in `!Sub`."""
        what, inner = f"state {asking.name}", member(written, "Fn::Sub")
        block = written if inner is None else inner
        if not isinstance(block, yaml.ScalarNode) or block.style != "|":
            raise NotUnderstood(f"{what}: DefinitionString is no literal block (|)")
        is_substituted = inner is not None or block.tag == "!Sub"
        escaped = re.sub(rf"\$\{{({'|'.join(SUBSTITUTIONS)})\}}", r"${!\1}", write(asking.state))
        state = as_object(load_json(escaped)) if is_substituted else asking.state
        content = Text(str(block.value))
        made = content.changed([_instead(content, content.root, asking.name, state, what)])
        if parsed(made, is_json=True) != _with_state(parsed(content.text, is_json=True), asking.name, state):
            raise NotUnderstood(f"{what}: the form of DefinitionString is not understood")
        value = self.value
        properties = value["Resources"][self.found.logical_id]["Properties"]
        properties["DefinitionString"] = {"Fn::Sub": made} if is_substituted else made
        self.texts.put(self.path, self.document.instead_of_block(block, made), value, what)

    def _add_member(self, name: str, line: str) -> None:
        """Add a line to a mapping of the properties, which is made if it is not there."""
        value, properties = self.value, self._properties(self.found.logical_id)
        there = member(properties, name)
        if there is None:
            edit = self.document.with_member(properties, f"{name}:\n  {line}")
        else:
            edit = self.document.with_member(_mapping(there, name), line)
        own = value["Resources"][self.found.logical_id]["Properties"]
        own[name] = {**as_object(own.get(name)), **_read(line)}
        self.texts.put(self.path, edit, value, name)

    def _add_item(self, name: str, item: str, resource: str = "") -> None:
        """Add an item to a list of the properties of a resource, which is made if it is not there."""
        resource = resource or self.found.logical_id
        value, properties = self.value, self._properties(resource)
        there = member(properties, name)
        if there is None:
            indented = "".join(f"  {line}\n" for line in item.splitlines())
            edit = self.document.with_member(properties, f"{name}:\n{indented}")
        elif isinstance(there, yaml.SequenceNode):
            edit = self.document.with_item(there, item)
        else:
            raise NotUnderstood(f"{name}: it is no list")
        own = value["Resources"][resource]["Properties"]
        own[name] = [*as_list(own.get(name)), *as_list(parsed(item, is_json=False))]
        self.texts.put(self.path, edit, value, name)

    def _properties(self, resource: str) -> MappingNode:
        return _mapping(member(self.document.root, "Resources", resource, "Properties"), "Properties")


def _mapping(node: yaml.Node | None, what: str) -> MappingNode:
    if not isinstance(node, yaml.MappingNode) or not (node.value or node.flow_style):
        raise NotUnderstood(f"{what}: it is no mapping")
    return node


def _value_of(path: Path, text: str) -> Json:
    return parsed(text.removeprefix("\ufeff"), is_json=path.suffix in (".json", ".asl"))


def _read(text: str) -> JsonObject:
    return as_object(parsed(text, is_json=False))


def _instead(text: Text, root: yaml.Node | None, name: str, state: JsonObject, what: str) -> Edit:
    places = [] if root is None else list(called_states(root, name))
    if len(places) != 1:
        raise NotUnderstood(f"{what}: it is not found in its definition")
    return text.instead(places[0], name, "\n".join(yaml_lines({name: state}, {})))


def _with_state(value: Json, name: str, state: JsonObject) -> Json:
    """Return a definition with another state of this name, however deep."""
    if isinstance(value, list):
        return [_with_state(one, name, state) for one in cast(list[Json], value)]
    if not isinstance(value, dict):
        return value
    members = cast(JsonObject, value)
    found = {key: _with_state(one, name, state) for key, one in members.items()}
    if name in as_object(found.get("States")):
        found["States"] = {**as_object(found["States"]), name: state}
    return found


def _allows(policies: Json) -> bool:
    """Tell whether policies that are written out allow to invoke the function that asks."""
    function = _read(f"it: {INPUT_REQUESTS}")["it"]
    statements = (statement for one in objects_in(policies) for statement in objects_in(one.get("Statement")))
    return any(
        one.get("Effect") == "Allow"
        and _INVOKE in (as_list(one.get("Action")) or [one.get("Action")])
        and function in (as_list(one.get("Resource")) or [one.get("Resource")])
        for one in statements
    )
