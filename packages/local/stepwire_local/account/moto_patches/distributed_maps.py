"""Patches of Distributed Maps: what they read, how they batch, when they fail, what they write.

moto's grammar knows a part of a Distributed Map only. What it does not know is taken out of the definition before it is
parsed, kept with the state, and served here.
"""
# ruff: noqa: SLF001 - moto's private methods decide what a Map does

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from botocore.exceptions import ClientError
from moto.stepfunctions.parser.api import HistoryEventType, MapRunFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.item_reader.item_reader_decl import ItemReader
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.distributed_iteration_component import (
    DistributedIterationComponent,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.itemprocessor import (
    distributed_item_processor_worker,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration.job import JobPool
from moto.stepfunctions.parser.asl.component.state.exec.state_map.result_writer.result_writer_decl import ResultWriter
from moto.stepfunctions.parser.asl.component.state.exec.state_map.state_map import StateMap
from moto.stepfunctions.parser.asl.component.state.exec.state_map.tolerated_failure import (
    ToleratedFailureCountDecl,
    ToleratedFailurePercentageDecl,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.credentials import StateCredentials
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ServiceResource
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.program_state import ProgramError
from moto.stepfunctions.parser.asl.parse import asl_parser
from moto.stepfunctions.parser.asl.utils import boto_client
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

from stepwire.json_text import objects_in
from stepwire.manifests.definitions import states_in
from stepwire_local.account.moto_patches.item_sources import Unreadable, items_of
from stepwire_local.account.moto_patches.stubs import answer_for
from stepwire_local.stubs.names import suggested

_Replace = Callable[[object, str, object], None]
_Worker: Any = distributed_item_processor_worker.DistributedItemProcessorWorker

_MOST_WORKERS: Final = 40  # threads; AWS runs up to 10,000 children at once
_LARGEST_BATCH: Final = 256 * 1024  # bytes


@dataclass(frozen=True)
class _Extras:
    """What moto's grammar does not know of a Map state."""

    batcher: Mapping[str, Any] | None = None
    reader: Mapping[str, Any] | None = None
    """The ReaderConfig of its ItemReader."""


_NONE: Final = _Extras()
_extras: ContextVar[Mapping[str, _Extras]] = ContextVar("extras")
"""Of the definition that is parsed, by the names of states."""


def distributed_maps_are_whole(replace: _Replace) -> None:
    """Patch: Serve ExecutionType EXPRESS, ItemBatcher and every ReaderConfig; read what a stub or S3 has.

    Defect: A definition with ExecutionType EXPRESS, ItemBatcher, ToleratedFailurePercentage as a whole number, or an
    InputType other than CSV and JSON is refused.
    """
    parser: Any = asl_parser.AmazonStateLanguageParser
    original, from_props = parser.parse, StateMap.from_state_props

    def parse(definition: str) -> tuple[Any, Any]:
        plain, extras = _without_extras(definition)
        token = _extras.set(extras)
        try:
            return original(plain)
        finally:
            _extras.reset(token)

    def from_state_props(self: Any, state_props: Any) -> None:
        from_props(self, state_props)
        extras = _extras.get({}).get(self.name, _NONE)
        self.iteration_component.extras = extras
        self.iteration_component.tolerates = (
            state_props.get(ToleratedFailureCountDecl) is not None,
            state_props.get(ToleratedFailurePercentageDecl) is not None,
        )
        if self.item_reader is not None:
            self.item_reader.config = extras.reader or {}
            self.item_reader.state = self.name

    replace(parser, "parse", staticmethod(parse))
    replace(StateMap, "from_state_props", from_state_props)
    replace(ItemReader, "_eval_body", _read_items)


@lru_cache(maxsize=256)
def _without_extras(definition: str) -> tuple[str, Mapping[str, _Extras]]:
    """Return a definition that moto's grammar knows, and what was taken out of it."""
    if "DISTRIBUTED" not in definition:
        return definition, {}
    program: dict[str, Any] = json.loads(definition)
    extras = {one.name: _taken_out(one.state) for one in states_in(program) if one.state.get("Type") == "Map"}
    return json.dumps(program), extras


def _taken_out(state: dict[str, Any]) -> _Extras:
    for processor in (*objects_in(state.get("ItemProcessor")), *objects_in(state.get("Iterator"))):
        for config in objects_in(processor.get("ProcessorConfig")):
            config.update({"ExecutionType": "STANDARD"} if config.get("ExecutionType") == "EXPRESS" else {})
    if isinstance(percentage := state.get("ToleratedFailurePercentage"), int):
        state["ToleratedFailurePercentage"] = float(percentage)
    for writer in objects_in(state.get("ResultWriter")):
        if writer.pop("WriterConfig", None) is not None and not writer:
            del state["ResultWriter"]
    readers = [reader.pop("ReaderConfig", None) for reader in objects_in(state.get("ItemReader"))]
    return _Extras(state.pop("ItemBatcher", None), next(iter(readers), None))


# ------------------------------------------------------------------------------------------------------ reading items


def _read_items(self: Any, env: Any) -> None:
    """Put the items on the stack: what a stub answers, or what S3 has."""
    if self.parargs:
        self.parargs.eval(env=env)
    else:
        env.stack.append({})
    parameters: dict[str, Any] = env.stack.pop()
    config = _evaluated(env, self.config)
    stubbed = answer_for(self, env, parameters)
    try:
        items = items_of(stubbed.value if stubbed else _from_s3(self, env, parameters), config, _getter(env))
    except Unreadable as error:
        raise _failure(env, StatesErrorNameType.StatesItemReaderFailed, str(error)) from error
    except ClientError as error:
        cause = f"{error.response.get('Error', {}).get('Message', error)} ({_where(parameters)}). {_advice(self)}"
        raise _failure(env, StatesErrorNameType.StatesItemReaderFailed, cause) from error
    most = config.get("MaxItems")
    env.stack.append(items[: int(most)] if most else items)


def _advice(reader: Any) -> str:
    where = "Put the file into the folder buckets/<bucket>/ beside the template"
    return f"{where}, or give the items: {suggested(reader.state)}"


def _where(parameters: Mapping[str, Any]) -> str:
    return "/".join(str(parameters[name]) for name in ("Bucket", "Key", "Prefix") if name in parameters)


def _from_s3(reader: Any, env: Any, parameters: Mapping[str, Any]) -> Any:
    s3 = _s3(env)
    wanted = {name: value for name, value in parameters.items() if name != "ExpectedBucketOwner"}
    if cast("ServiceResource", reader.resource).api_action.casefold() == "getobject":
        return s3.get_object(**wanted)["Body"].read()
    return list(_listed(s3, wanted))


def _listed(s3: Any, wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    more: dict[str, Any] = {}
    while True:
        page = s3.list_objects_v2(**wanted, **more)
        for one in page.get("Contents", ()):
            kept = {name: one[name] for name in ("ETag", "Key", "Size", "StorageClass") if name in one}
            yield {**kept, "LastModified": int(one["LastModified"].timestamp())}
        if not page.get("IsTruncated"):
            return
        more = {"ContinuationToken": page["NextContinuationToken"]}


def _getter(env: Any) -> Callable[[str, str], bytes]:
    return lambda bucket, key: _s3(env).get_object(Bucket=bucket, Key=key)["Body"].read()


def _s3(env: Any) -> Any:
    details = env.aws_execution_details
    return boto_client.boto_client_for(
        region=details.region, service="s3", state_credentials=StateCredentials(role_arn=details.role_arn)
    )


def _evaluated(env: Any, template: Mapping[str, Any]) -> dict[str, Any]:
    """Return some fields of a state with the values of their paths and expressions."""
    if not template:
        return {}
    text = json.dumps({_payload_name(name): value for name, value in template.items()})
    arguments = _arguments(text, is_jsonata="{%" in text)
    env.stack.append(env.states.get_input())
    arguments.eval(env=env)
    value: dict[str, Any] = env.stack.pop()
    env.stack.pop()
    return value


def _payload_name(name: str) -> str:
    """Return how a payload names what a state names: `MaxItemsPath` is `MaxItems.$`."""
    return f"{name.removesuffix('Path')}.$" if name.endswith("Path") else name


@lru_cache(maxsize=256)
def _arguments(text: str, *, is_jsonata: bool) -> Any:
    """Let moto parse a payload, as one of a Task state."""
    language, field = ("JSONata", "Arguments") if is_jsonata else ("JSONPath", "Parameters")
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", field: json.loads(text), "End": True}
    definition = json.dumps({"QueryLanguage": language, "StartAt": "Task", "States": {"Task": task}})
    program: Any = asl_parser.AmazonStateLanguageParser.parse(definition)[0]
    return program.states.states["Task"].parargs


# ---------------------------------------------------------------------------------------- batches, failures, results


def distributed_maps_keep_their_limits(replace: _Replace) -> None:
    """Patch: Fail with States.ExceedToleratedFailureThreshold unless so many failures are tolerated; batch the items.

    Defect: Children that fail never fail a Distributed Map; and each item gets a thread, so that many items exhaust the
    machine.
    """
    eval_job: Any = _Worker._eval_job

    def _eval_job(self: Any, env: Any, job: Any) -> None:
        eval_job(self, env, job)
        state = env.program_state()
        failed = state.error if isinstance(state, ProgramError) else None
        self._map_run_record.children.append((job, failed))

    replace(_Worker, "_eval_job", _eval_job)
    replace(_Worker, "_eval_pool", _eval_pool)
    replace(DistributedIterationComponent, "_map_run", _map_run)


def _eval_pool(self: Any, job: Any, worker_frame: Any) -> None:
    """Run one item after the other; moto's own calls itself for each."""
    while job is not None:
        frame = worker_frame.open_inner_frame()
        self._eval_job(env=frame, job=job)
        worker_frame.delete_frame(frame)
        following = None if self.stopped() else self._job_pool.next_job()
        if following is None:  # what waits for the last job goes on with this environment
            self._env.delete_frame(worker_frame)
        self._job_pool.close_job(job)
        job = following


def _map_run(self: Any, env: Any, eval_input: Any) -> None:
    """Run the children for all items or batches, and put their outputs on the stack."""
    items: list[Any] = env.stack.pop()
    record = eval_input.map_run_record
    record.children = []
    if self.extras.batcher:
        selected = [_selected(env, eval_input, index, item) for index, item in enumerate(items)]
        items = list(_batches(selected, _evaluated(env, self.extras.batcher)))
        eval_input = copy.copy(eval_input)
        eval_input.item_selector = eval_input.parameters = None
    pool = JobPool(job_program=self._get_iteration_program(), job_inputs=items)
    for _ in range(min(len(items), record.max_concurrency or _MOST_WORKERS, _MOST_WORKERS)):
        self._launch_worker(env=env, eval_input=eval_input, job_pool=pool)
    pool.await_jobs()
    if error := pool.get_worker_exception():
        raise error
    _check_failures(self, env, record, len(items))
    env.stack.append([one.job_output for one in pool.get_closed_jobs()])


def _selected(env: Any, eval_input: Any, index: int, item: Any) -> Any:
    """Return what the ItemSelector makes of an item."""
    selector = eval_input.item_selector or eval_input.parameters
    if selector is None:
        return item
    frame, given = env.open_inner_frame(), env.stack[-1]
    frame.states.context_object.context_object_data["Map"] = {"Item": {"Index": index, "Value": item}}
    frame.states.reset(input_value=given)
    frame.stack.append(given)
    selector.eval(frame)
    env.delete_frame(frame)
    return frame.stack[-1]


def _batches(items: list[Any], batcher: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the inputs of the children: so many items each, of so many bytes."""
    most = int(batcher.get("MaxItemsPerBatch") or len(items) or 1)
    largest = min(int(batcher.get("MaxInputBytesPerBatch") or _LARGEST_BATCH), _LARGEST_BATCH)
    common = {"BatchInput": batcher["BatchInput"]} if "BatchInput" in batcher else {}
    batch, size = list[Any](), 0
    for item in items:
        length = len(to_json_str(item).encode())
        if batch and (len(batch) >= most or size + length > largest):
            yield {**common, "Items": batch}
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield {**common, "Items": batch}


def _check_failures(component: Any, env: Any, record: Any, count: int) -> None:
    failed = record.item_counter.failed.get() + record.item_counter.timed_out.get()
    by_count, by_percentage = component.tolerates
    too_many = failed > record.tolerated_failure_count and (by_count or not by_percentage)
    too_large = by_percentage and failed * 100 > record.tolerated_failure_percentage * count
    if not failed or not (too_many or too_large):
        return
    first: dict[str, Any] = next((error for _, error in record.children if error), dict[str, Any]())
    cause = f"The specified tolerated failure threshold was exceeded: {failed} of {count} failed"
    words = ": ".join(str(first[name]) for name in ("error", "cause") if first.get(name))
    kind = StatesErrorNameType.StatesExceedToleratedFailureThreshold
    raise _failure(env, kind, f"{cause}, the first with {words}" if words else cause)


def results_are_written(replace: _Replace) -> None:
    """Patch: Write the results of the children, as files that the manifest names.

    Defect: ResultWriter writes a manifest of no files; the results are lost.
    """

    def _eval_body(self: Any, env: Any) -> None:
        self.parargs.eval(env=env)
        parameters: dict[str, Any] = env.stack.pop()
        env.stack.pop()
        record = env.map_run_record_pool_manager.get_all().pop()
        try:
            env.stack.append(_written(_s3(env), parameters, record))
        except ClientError as error:
            raise _failure(env, StatesErrorNameType.StatesResultWriterFailed, str(error)) from error

    replace(ResultWriter, "_eval_body", _eval_body)


def _written(s3: Any, parameters: Mapping[str, Any], record: Any) -> dict[str, Any]:
    bucket, prefix = parameters["Bucket"], str(parameters.get("Prefix", "")).rstrip("/")
    folder = "/".join(filter(None, [prefix, record.map_run_arn.rpartition(":")[2]]))
    files: dict[str, list[dict[str, Any]]] = {"FAILED": [], "PENDING": [], "SUCCEEDED": []}
    children = sorted(record.children, key=lambda child: child[0].job_index)
    for status in ("SUCCEEDED", "FAILED"):
        entries = [_entry(job, error, record) for job, error in children if (error is None) == (status == "SUCCEEDED")]
        if entries:
            key, body = f"{folder}/{status}_0.json", json.dumps(entries).encode()
            s3.put_object(Bucket=bucket, Key=key, Body=body)
            files[status].append({"Key": key, "Size": len(body)})
    manifest = {"DestinationBucket": bucket, "MapRunArn": record.map_run_arn, "ResultFiles": files}
    key = f"{folder}/manifest.json"
    s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(manifest, indent=2).encode())
    return {"MapRunArn": record.map_run_arn, "ResultWriterDetails": {"Bucket": bucket, "Key": key}}


def _entry(job: Any, error: Mapping[str, Any] | None, record: Any) -> dict[str, Any]:
    name = str(job.job_index)
    arn = f"{record.map_state_machine_arn.replace(':stateMachine:', ':execution:', 1)}:{name}"
    common = {"ExecutionArn": arn, "Input": to_json_str(job.job_input), "Name": name}
    if error is None:
        return {**common, "Output": to_json_str(job.job_output), "Status": "SUCCEEDED"}
    return {**common, "Error": error.get("error"), "Cause": error.get("cause"), "Status": "FAILED"}


def _failure(env: Any, kind: Any, cause: str) -> FailureEventException:
    name = StatesErrorName(typ=kind)
    details = MapRunFailedEventDetails(error=name.error_name, cause=cause)
    event: Any = cast("Any", EventDetails)(mapRunFailedEventDetails=details)
    return FailureEventException(FailureEvent(env, name, HistoryEventType.MapRunFailed, event))


PATCHES = (distributed_maps_are_whole, distributed_maps_keep_their_limits, results_are_written)
