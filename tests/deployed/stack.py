"""The stack as users deploy it: `sam build`, `sam deploy`, samconfig.toml.

The rule: it differs from a deployment to AWS only in the rows of not_served.py and in parameters.
"""

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import boto3
import yaml

from release.__main__ import about
from release.archive import packed
from release.artifact import SUMS, make, sums_of
from stepwire_cli.deployment.parts import EVERY, extras_named, extras_of, write_stack
from stepwire_local.cloudformation.template import read
from tests.deployed.emulator import ROOT
from tests.deployed.not_served import (
    released,
    with_plain_time_limits,
    with_wide_permissions,
    without_what_is_left_out,
)

SAM: Final = ROOT / ".venv-sam/bin/sam"
NAME: Final = "e2e"
SECONDS: Final = 600
# Variables of an outer make, which must not reach the makefiles of `sam build`.
OF_MAKE: Final = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
# Left out of a copy of the project.
NOT_SOURCES: Final = (".git", ".venv*", ".aws-sam", ".hypothesis", "node_modules", "__pycache__")


@dataclass(frozen=True)
class Resource:
    """A resource of a deployed stack."""

    name: str
    kind: str
    physical_id: str


@dataclass(frozen=True)
class Stack:
    """A deployed stack."""

    resources: Sequence[Resource]

    def of(self, kind: str) -> list[Resource]:
        """Return the resources of a type."""
        return [resource for resource in self.resources if resource.kind == kind]

    def named(self, name: str) -> str:
        """Return the physical id of a resource."""
        return next(resource.physical_id for resource in self.resources if resource.name == name)


def build(project: Path, folder: Path, *, platform: str, template: str = "stack.yaml") -> Path:
    """Build a template of a project for a platform (lambda, host) into a folder; the stack has the extras in WITH."""
    chosen = extras_named(os.environ.get("WITH", EVERY), extras_of(project))
    write_stack(project, project / "stack.yaml", chosen)
    # A shell may name a Python for the bytecode of a release: that of Lambda, which is not this machine's.
    variables = {"STEPWIRE_PLATFORM": platform, **({"STEPWIRE_BYTECODE": ""} if platform == "host" else {})}
    sam(["build", "--template", template, "--build-dir", str(folder)], project, variables)
    return folder


def copied(project: Path, copy: Path) -> Path:
    """Copy the project to a folder in which nothing was ever built; it shares our environment."""
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(*NOT_SOURCES))
    (copy / ".venv").symlink_to(project / ".venv")
    return copy


def for_the_emulator(built: Path) -> tuple[Path, list[str]]:
    """Write a copy of the built template without what the emulator cannot serve; return also what was left out."""
    rest, taken = without_what_is_left_out(with_wide_permissions(read(built / "template.yaml")))
    for name, body in rest["Resources"].items():
        if body["Type"] == "AWS::Serverless::StateMachine" and "DefinitionUri" in body["Properties"]:
            body["Properties"]["DefinitionUri"] = _in_json(built, name, body["Properties"]["DefinitionUri"])
    adapted = built / "emulated.json"
    adapted.write_text(json.dumps(rest), encoding="utf-8")
    return adapted, taken


def release_for_the_emulator(built: Path, folder: Path) -> Path:
    """Write the release of this commit, of a built folder, without what the emulator cannot serve; return its file."""
    with zipfile.ZipFile(make(built, ROOT, folder, about()).file) as whole:
        contents = released({name: whole.read(name) for name in whole.namelist() if name != SUMS})
    emulated = folder / "emulated.zip"
    emulated.write_bytes(packed({**contents, SUMS: sums_of(contents)}))
    return emulated


def deploy(template: Path, parameters: Mapping[str, str], environment: Mapping[str, str], name: str = NAME) -> Stack:
    """Deploy a built template as samconfig.toml says, to the AWS of the environment."""
    command = [
        *("deploy", "--config-file", str(ROOT / "samconfig.toml"), "--config-env", "prod"),
        *("--template-file", str(template), "--stack-name", name, "--no-confirm-changeset", "--no-progressbar"),
        *("--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())),
    ]
    sam(command, template.parent, environment)
    return look_at(name, environment)


def look_at(name: str, environment: Mapping[str, str]) -> Stack:
    """Return a stack as CloudFormation describes it."""
    pages = aws("cloudformation", environment).get_paginator("list_stack_resources").paginate(StackName=name)
    return Stack(
        [
            Resource(one["LogicalResourceId"], one["ResourceType"], one["PhysicalResourceId"])
            for page in pages
            for one in page["StackResourceSummaries"]
        ]
    )


def compile_what_is_registered(stack: Stack, environment: Mapping[str, str]) -> None:
    """Invoke function catalog, as the sweep's schedule does."""
    event = json.dumps({"detail-type": "Scheduled Event"}).encode()
    answer = aws("lambda", environment).invoke(FunctionName=stack.named("CatalogFunction"), Payload=event)
    assert "FunctionError" not in answer, answer["Payload"].read()


def aws(service: str, environment: Mapping[str, str]) -> Any:
    """Return a client of AWS, or of the emulator, depending on the environment."""
    return cast(Any, boto3).client(
        service,
        endpoint_url=environment.get("AWS_ENDPOINT_URL"),
        region_name=environment.get("AWS_REGION"),
        aws_access_key_id=environment.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=environment.get("AWS_SESSION_TOKEN"),
    )


def _in_json(built: Path, name: str, definition: str) -> str:
    """Rewrite a definition as JSON in the built folder: see GAPS."""
    written = built / f"{name}.asl.json"
    read = yaml.safe_load((built / definition).read_text(encoding="utf-8"))
    written.write_text(json.dumps(with_plain_time_limits(read)), encoding="utf-8")
    return written.name


def sam(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run the SAM CLI."""
    ours = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    ended = subprocess.run(
        [SAM, *arguments],
        cwd=folder,
        env={**ours, "SAM_CLI_TELEMETRY": "0", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
