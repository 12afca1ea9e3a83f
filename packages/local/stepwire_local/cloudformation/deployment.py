"""A stack in the simulated account: one template's resources, and how they follow the template when it changes.

The rule of a change: it touches only what differs, in place. Where it fails, the resources are brought back to the last
template that could be served.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from stepwire_local.cloudformation import template
from stepwire_local.cloudformation.files import signature, signature_of
from stepwire_local.cloudformation.objects import put_objects
from stepwire_local.cloudformation.parameters import ParameterValue, parameter_values, without_value
from stepwire_local.cloudformation.provisioner import Made, Provisioner
from stepwire_local.cloudformation.resources.kinds import NOT_SERVED, World
from stepwire_local.cloudformation.template import Template
from stepwire_local.errors import LocalStackError, TemplateError

_LONGEST = 300  # characters of an unforeseen error's words


class Deployment:
    """One stack."""

    def __init__(self, path: Path, world: World) -> None:
        self.path = path
        self.world = world
        self.outputs: dict[str, str] = {}
        self._made: dict[str, Made] = {}
        self._left: dict[str, Made] = {}
        self._given: dict[str, str] = {}
        self._defaults: dict[str, str] = {}
        self._parameters: dict[str, ParameterValue] = {}

    @property
    def name(self) -> str:
        """Return the stack's name."""
        return self.world.stack

    @property
    def template(self) -> Template:
        """Return the template that serves now."""
        return self._template

    @property
    def physical_ids(self) -> dict[str, str]:
        """Map the logical id of each created resource to its physical id, the value of Ref."""
        return {name: made.created.reference for name, made in self._made.items() if made.is_served}

    def of_kind(self, kind: str) -> Sequence[str]:
        """Return the physical ids of the resources of a type."""
        return [one.created.reference for one in self._made.values() if one.is_served and one.resource.kind == kind]

    @property
    def parameters(self) -> dict[str, str]:
        """Return the value of each parameter as CloudFormation shows it: a list as one text."""
        return {name: one if isinstance(one, str) else ",".join(one) for name, one in self._parameters.items()}

    def signature(self) -> str:
        """Return a text that changes with the template, the definitions and the code that it names."""
        folders = (signature(folder) for folder in self._template.folders.values())
        return "\n".join([signature_of([self.path, *self._template.included, *self._template.definitions]), *folders])

    def declared(self) -> Mapping[str, Any]:
        """Return the parameters that the template declares.

        Raises:
            TemplateError: the file is missing, not YAML, or no template.
        """
        return template.declared_parameters(self.path)

    def without_value(self, given: Iterable[str]) -> dict[str, Any]:
        """Return the declarations of the parameters that have neither a default nor a given value.

        Raises:
            TemplateError: the file is missing, not YAML, or no template.
        """
        return without_value(self.declared(), given)

    def create(self, defaults: Mapping[str, str], given: Mapping[str, str]) -> None:
        """Create the resources. Defaults count if the template declares them and nobody gives others.

        Raises:
            TemplateError: the template or its parameters cannot be served.
        """
        self._defaults, self._given = dict(defaults), dict(given)
        with _in_one_line(self.path):
            self._apply(self._load())
            put_objects(self.path.parent, self.physical_ids, self.world.client("s3"))

    def update(self) -> list[str]:
        """Take over what has changed in the template and in the files that it names; return the logical ids concerned.

        Raises:
            LocalStackError: it cannot be served; the last good template goes on serving.
        """
        before = self._template
        with _in_one_line(self.path):
            loaded = self._load()
        try:
            with _in_one_line(self.path):
                return self._apply(loaded)
        except LocalStackError:
            self._apply(before)
            raise

    def _load(self) -> Template:
        return template.load(self.path, self._given, own=self._defaults)

    def _apply(self, loaded: Template) -> list[str]:
        self.world.folders = loaded.folders
        parameters = self._values(loaded)
        provisioner = Provisioner(loaded, parameters, self.world, self._made, self._left)
        self.outputs = provisioner.run()
        self._parameters = parameters
        self._template = loaded
        return provisioner.changed

    def _values(self, loaded: Template) -> dict[str, ParameterValue]:
        declared = loaded.section("Parameters")
        defaults = {name: value for name, value in self._defaults.items() if name in declared}
        return parameter_values(declared, defaults | self._given, self._stored)

    def _stored(self, name: str) -> str:
        """Return the value of a Systems Manager parameter that a parameter names."""
        try:
            return self.world.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
        except ClientError:
            self.world.notes.append(f"the Systems Manager parameter {name} is not here; its value is made up")
            return f"{name.rpartition('/')[2]}{NOT_SERVED}"


@contextmanager
def _in_one_line(path: Path) -> Generator[None]:
    """Let whatever nobody foresaw in a template be one line; its cause is kept for a debugger."""
    try:
        yield
    except LocalStackError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:_LONGEST]
        raise TemplateError(f"{path} cannot be served: {type(error).__name__}: {words}") from error
