"""Cut botocore's models of AWS services to the operations that Stepwire calls. Called by `fill`, for the layer.

A first client reads the model of its service, its endpoints and the list of all services: most of the time that a cold
start spends in botocore. `stepwire.aws.clients` reads these instead. The rule: nothing is changed, only left out. The
build's botocore is older or newer than Lambda's; both read this format.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from botocore.loaders import Loader

_OF_THE_CORE: Final[Mapping[str, tuple[str, ...]]] = {
    "dynamodb": (
        "BatchGetItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    ),
    "events": ("PutEvents",),
    "resourcegroupstaggingapi": ("GetResources",),
    "s3": ("GetObject", "PutObject"),
    "secretsmanager": ("GetSecretValue",),
    "sqs": ("SendMessage",),
    "ssm": ("DescribeParameters", "GetParametersByPath"),
    "stepfunctions": (
        "DescribeExecution",
        "DescribeMapRun",
        "DescribeStateMachine",
        "DescribeStateMachineAlias",
        "GetExecutionHistory",
        "ListExecutions",
        "ListTagsForResource",
        "RedriveExecution",
        "SendTaskFailure",
        "SendTaskHeartbeat",
        "SendTaskSuccess",
        "StartExecution",
        "StartSyncExecution",
        "StopExecution",
    ),
    "sts": ("AssumeRole",),
}
_OF_EXTRAS: Final[Sequence[Mapping[str, Sequence[str]]]] = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted((Path(__file__).parent / "extras").glob("*.json"))
]
"""What only an extra calls: a file for each."""
OPERATIONS: Final[Mapping[str, Sequence[str]]] = {
    service: sorted({*operations, *(one for extra in _OF_EXTRAS for one in extra.get(service, ()))})
    for service, operations in _OF_THE_CORE.items()
}
"""The operations of each service. A test compares them with the calls in the code."""
PAGED: Final = ("resourcegroupstaggingapi", "ssm")
"""The services whose paginators are used."""
_WHOLE: Final = ("_retry", "partitions", "sdk-default-configuration")


def cut(folder: Path) -> None:
    """Write the models into a folder, as botocore's loader looks for them."""
    loader: Any = Loader()
    prefixes = set[str]()
    for service, operations in OPERATIONS.items():
        model, rules = (loader.load_service_model(service, kind) for kind in ("service-2", "endpoint-rule-set-1"))
        place = folder / service / loader.determine_latest_version(service, "service-2")
        _write(place / "service-2.json", _with_operations(model, operations))
        _write(place / "endpoint-rule-set-1.json", rules)
        if service in PAGED:
            _write(
                place / "paginators-1.json", _with_pages(loader.load_service_model(service, "paginators-1"), operations)
            )
        prefixes.add(model["metadata"]["endpointPrefix"])
    for name in _WHOLE:
        _write(folder / f"{name}.json", loader.load_data(name))
    _write(folder / "endpoints.json", _with_services(loader.load_data("endpoints"), prefixes))


def _with_operations(model: Mapping[str, Any], operations: Sequence[str]) -> dict[str, Any]:
    kept = {name: model["operations"][name] for name in operations}
    names, waiting = set[str](), list(_shapes_in(kept))
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += _shapes_in(model["shapes"][name])
    shapes = {name: shape for name, shape in model["shapes"].items() if name in names}
    return {**model, "operations": kept, "shapes": shapes}


def _with_pages(paginators: Mapping[str, Any], operations: Sequence[str]) -> dict[str, Any]:
    return {"pagination": {name: paginators["pagination"][name] for name in operations}}


def _with_services(endpoints: Mapping[str, Any], prefixes: set[str]) -> dict[str, Any]:
    partitions = [
        {**one, "services": {name: it for name, it in one["services"].items() if name in prefixes}}
        for one in endpoints["partitions"]
    ]
    return {**endpoints, "partitions": partitions}


def _shapes_in(value: Any) -> Iterator[str]:
    """Yield the names of shapes that a part of a model refers to."""
    if isinstance(value, dict):
        for name, member in cast(dict[str, Any], value).items():
            if name == "shape" and isinstance(member, str):
                yield member
            else:
                yield from _shapes_in(member)
    elif isinstance(value, list):
        for member in cast(list[Any], value):
            yield from _shapes_in(member)


def _undocumented(value: Any) -> Any:
    """Leave out documentation, which is text: a member of that name is an object."""
    if isinstance(value, dict):
        members = cast(dict[str, Any], value).items()
        return {
            # botocore reads the documentation of these parameters with each call, of S3 alone.
            k: v if k == "clientContextParams" else _undocumented(v)
            for k, v in members
            if not (k == "documentation" and isinstance(v, str))
        }
    return [_undocumented(one) for one in cast(list[Any], value)] if isinstance(value, list) else value


def _write(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_undocumented(data), separators=(",", ":")) + "\n", encoding="utf-8")
