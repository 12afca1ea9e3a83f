"""What `sam build` builds, and what `sam deploy` deploys to the emulated AWS."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from layers.artifacts import artifacts, over_budget
from stepwire_local.cloudformation.template import parse
from tests.deployed.emulator import REGION, ROOT
from tests.deployed.endpoint import Endpoint
from tests.deployed.stack import NAME, aws, build, copied, look_at, sam

LONG_AGO: Final = 1_000_000_000  # seconds since the epoch


@pytest.fixture
def careful_umask() -> Iterator[None]:
    """The umask of a careful administrator."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build for Lambda of a fresh copy of the project."""
    project = copied(ROOT, tmp_path_factory.mktemp("reference") / "project")
    return build(project, project / "built", platform="lambda")


def test_a_build_for_lambda_is_within_its_budgets_and_contains_no_bytecode(reference: Path) -> None:
    assert over_budget(artifacts(reference)) == []
    assert list(reference.rglob("*.pyc")) == []


def test_a_build_for_lambda_is_for_arm64_and_python_313(reference: Path) -> None:
    compiled = [path.name for path in (reference / "DependenciesLayer").rglob("*.so")]

    assert compiled
    assert all("cpython-313-aarch64" in name or ".abi3." in name for name in compiled)
    machine_of_elf = slice(18, 20)
    assert {path.read_bytes()[machine_of_elf] for path in reference.rglob("*.so")} == {(183).to_bytes(2, "little")}


def test_another_build_has_the_same_content(reference: Path, tmp_path: Path, careful_umask: None) -> None:
    """The other build has another folder, other times and modes, and a project that was run."""
    project = copied(ROOT, tmp_path / "deeper" / "another project")
    for source in project.rglob("*.py"):
        os.utime(source, (LONG_AGO, LONG_AGO))
    for function in (project / "functions").iterdir():
        (function / "__pycache__").mkdir()
        (function / "__pycache__" / "app.cpython-311.pyc").write_bytes(b"of this machine")

    another = build(project, tmp_path / "another build", platform="lambda")

    assert artifacts(another) == artifacts(reference)


def test_sam_uploads_each_artifact_under_the_hash_that_make_build_prints(built: Path, emulated: Endpoint) -> None:
    client = aws("s3", emulated.environment)
    buckets = [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]

    keys = {
        held["Key"].rpartition("/")[2]
        for bucket in buckets
        for held in client.list_objects_v2(Bucket=bucket).get("Contents", [])
    }

    assert {artifact.digest for artifact in artifacts(built)} <= keys


def test_sam_uploads_the_included_file_of_the_core_as_it_is(emulated: Endpoint, tmp_path: Path) -> None:
    """CloudFormation would put it into the template; the emulator does not (not_served.py)."""
    built = build(ROOT, ROOT / ".aws-sam/e2e-core", platform="host", template="template.yaml")
    client, bucket = aws("s3", emulated.environment), "for-included-files"
    client.create_bucket(Bucket=bucket)
    packaged = tmp_path / "packaged.yaml"
    target = ["--s3-bucket", bucket, "--output-template-file", str(packaged)]

    sam(["package", "--template-file", str(built / "template.yaml"), *target], tmp_path, emulated.environment)

    location = parse(packaged)["Resources"]["Fn::Transform"]["Parameters"]["Location"]
    assert location.startswith(f"s3://{bucket}/")
    uploaded = client.get_object(Bucket=bucket, Key=location.removeprefix(f"s3://{bucket}/"))["Body"].read()
    assert uploaded == (ROOT / "operations.yaml").read_bytes()


def test_a_function_may_do_what_its_policies_allow_and_nothing_else(emulated: Endpoint) -> None:
    stack = emulated.looked_at()
    tasks = aws("dynamodb", as_function("InputRequestsFunction", emulated))
    workflows = aws("stepfunctions", as_function("InputRequestsFunction", emulated))

    found = tasks.get_item(TableName=stack.named("TasksTable"), Key={"pk": {"S": "nobody"}, "sk": {"S": "nothing"}})
    with pytest.raises(ClientError) as deleted:
        tasks.delete_item(TableName=stack.named("TasksTable"), Key={"pk": {"S": "nobody"}, "sk": {"S": "nothing"}})
    machine = look_at(f"{NAME}-adopter", emulated.environment).named("WaitAndEcho")
    with pytest.raises(ClientError) as started:
        workflows.start_execution(stateMachineArn=machine)

    assert "Item" not in found
    assert code(deleted) == code(started) == "AccessDeniedException"


def as_function(name: str, emulated: Endpoint) -> Mapping[str, str]:
    """Return the environment of a function, for AWS's libraries."""
    function = emulated.looked_at().named(name)
    role = aws("lambda", emulated.environment).get_function_configuration(FunctionName=function)["Role"]
    given = aws("sts", emulated.environment).assume_role(RoleArn=role, RoleSessionName="e2e")["Credentials"]
    return {
        "AWS_ENDPOINT_URL": emulated.environment["AWS_ENDPOINT_URL"],
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }


def code(raised: Any) -> str:
    """Return the code of an AWS error."""
    return raised.value.response["Error"]["Code"]
