"""The models of AWS services in the layer: cut to what is called, and otherwise as botocore has them.

A new botocore, or a new call in the code, fails here, and not in Lambda.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.loaders import Loader
from botocore.session import Session

from layers.models import OPERATIONS, PAGED, cut
from stepwire.aws import clients

AWS = Path(clients.__file__).parent
# Methods of a client that take the name of an operation.
BY_NAME = ("get_paginator", "generate_presigned_url")
REGIONS = ("eu-central-1", "us-east-1", "us-gov-west-1", "cn-north-1")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    cut(folder)
    return folder


@pytest.fixture(scope="module")
def whole() -> Any:
    session: Any = Session()
    session.register_component("data_loader", Loader())  # clients change the models that other sessions share
    return session


@pytest.fixture(scope="module")
def small(models: Path) -> Any:
    session: Any = Session()
    session.register_component("data_loader", Loader([str(models)], include_default_search_paths=False))
    return session


def called() -> Iterator[tuple[str, str]]:
    """Yield each method that the package names, with the literal text of its first argument where it is called."""
    for path in (*AWS.rglob("*.py"), *(AWS.parent / "extras").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                yield node.attr, ""
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                first = node.args[0] if node.args else None
                yield node.func.attr, first.value if isinstance(first, ast.Constant) else ""  # type: ignore[misc]


def test_the_cut_models_have_the_operations_that_the_code_calls_and_no_others(whole: Any) -> None:
    calls = list(called())
    names = {name for name, _ in calls} | {first for name, first in calls if name in BY_NAME}
    methods = {service: set(map(xform_name, operations)) for service, operations in OPERATIONS.items()}

    of_aws = {xform_name(one) for service in OPERATIONS for one in whole.get_service_model(service).operation_names}

    assert names & of_aws == set[str]().union(*methods.values())


def test_the_cut_models_have_the_pages_that_the_code_asks_for(small: Any) -> None:
    asked = {first for name, first in called() if name == "get_paginator" and first}

    paged = {xform_name(one) for service in PAGED for one in small.get_paginator_model(service)._paginator_config}
    assert paged == asked


@pytest.mark.parametrize("service", OPERATIONS)
def test_what_is_left_of_a_model_is_as_botocore_has_it(whole: Any, small: Any, service: str) -> None:
    ours, theirs = (session.get_service_model(service) for session in (small, whole))

    assert ours.metadata == theirs.metadata
    for name in OPERATIONS[service]:
        assert shown(ours.operation_model(name)) == shown(theirs.operation_model(name))


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("service", OPERATIONS)
def test_a_client_of_a_cut_model_has_the_same_endpoint(whole: Any, small: Any, service: str, region: str) -> None:
    identity = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing"}

    ours, theirs = (session.create_client(service, region, **identity).meta for session in (small, whole))

    assert (ours.endpoint_url, ours.partition) == (theirs.endpoint_url, theirs.partition)
    assert ours.service_model.signing_name == theirs.service_model.signing_name


@pytest.mark.parametrize("service", ["dynamodb", "stepfunctions"])
def test_the_model_of_a_service_that_requests_call_is_small(models: Path, service: str) -> None:
    (model,) = (models / service).glob("*/service-2.json")

    assert model.stat().st_size <= 40_000  # bytes


def shown(operation: Any) -> Any:
    """Return all that botocore does with an operation, without its documentation."""
    shapes = (operation.input_shape, operation.output_shape, *operation.error_shapes)
    return operation.name, operation.http, operation.auth_type, [shape_shown(shape, ()) for shape in shapes if shape]


def shape_shown(shape: Any, above: tuple[str, ...]) -> Any:
    if shape.name in above:
        return shape.name
    inside = (*above, shape.name)
    members = {name: shape_shown(member, inside) for name, member in getattr(shape, "members", {}).items()}
    parts = [shape_shown(getattr(shape, one), inside) for one in ("key", "value", "member") if hasattr(shape, one)]
    return shape.name, shape.type_name, shape.serialization, shape.metadata, members, parts
