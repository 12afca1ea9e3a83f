"""What the AWS services that a task may call take and answer: types and choices, from botocore's service models.

Nothing is called and no credentials are needed: the models are files of botocore. A service that it does not know says
nothing of its parameters.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from stepwire_wrap.definitions.reads import ANY, FLAG, LIST, NUMBER, OBJECT, TEXT, WHOLE, Use

if TYPE_CHECKING:
    from botocore.model import OperationModel, ServiceModel, Shape
    from botocore.session import Session

# A part of an ARN may be a reference, such as ${AWS::Partition}.
_RESOURCE: Final = re.compile(
    r"arn:(?:\$\{[^}]*\}|[^:$])*:states:(?:\$\{[^}]*\}|[^:$])*:(?:\$\{[^}]*\}|[^:$])*:"
    r"(?P<sdk>aws-sdk:)?(?P<service>[\w-]+):(?P<action>\w+)(?P<form>\.[\w:]+)?"
)
# What Step Functions calls otherwise than botocore does, but for hyphens: by the names of the Java SDK.
_NAMES: Final = {
    "applicationdiscovery": "discovery",
    "cloudwatchlogs": "logs",
    "cognitoidentityprovider": "cognito-idp",
    "costandusagereport": "cur",
    "costexplorer": "ce",
    "databasemigration": "dms",
    "directory": "ds",
    "elasticloadbalancing": "elb",
    "elasticloadbalancingv2": "elbv2",
    "elasticmapreduce": "emr",
    "elasticsearch": "es",
    "eventbridge": "events",
    "iotdataplane": "iot-data",
    "iotjobsdataplane": "iot-jobs-data",
    "lexmodelbuilding": "lex-models",
    "lexmodelsv2": "lexv2-models",
    "lexruntimev2": "lexv2-runtime",
    "marketplacemetering": "meteringmarketplace",
    "migrationhub": "mgh",
    "pinpointsmsvoice": "sms-voice",
    "serverlessapplicationrepository": "serverlessrepo",
    "sfn": "stepfunctions",
    "simpledb": "sdb",
    "states": "stepfunctions",
}
_Parameters = dict[str, Any]
_TEXT: Final[_Parameters] = {"type": "string"}
_OBJECT: Final[_Parameters] = {"type": "structure", "members": {}}
_CLUSTER: Final[_Parameters] = {"ClusterId": _TEXT}
_CALL: Final[_Parameters] = {"ApiEndpoint": _TEXT, "Headers": _OBJECT, "Method": _TEXT, "QueryParameters": _OBJECT}
# What Step Functions makes of a service by itself: the operation that has such parameters, or what they are.
_OPTIMIZED: Final[dict[tuple[str, str], tuple[str, str] | _Parameters]] = {
    ("apigateway", "invoke"): {**_CALL, "AuthType": _TEXT, "Path": _TEXT, "Stage": _TEXT},
    ("bedrock", "invokeModel"): ("bedrock-runtime", "InvokeModel"),
    ("eks", "call"): {**dict.fromkeys(("ClusterName", "CertificateAuthority", "Method", "Path"), _TEXT)},
    ("eks", "runJob"): {**dict.fromkeys(("ClusterName", "CertificateAuthority", "Namespace"), _TEXT), "Job": _OBJECT},
    ("elasticmapreduce", "addStep"): {**_CLUSTER, "Step": _OBJECT},
    ("elasticmapreduce", "cancelStep"): {**_CLUSTER, "StepId": _TEXT},
    ("elasticmapreduce", "createCluster"): ("emr", "RunJobFlow"),
    ("elasticmapreduce", "modifyInstanceFleetByName"): {
        **_CLUSTER,
        "InstanceFleet": _OBJECT,
        "InstanceFleetName": _TEXT,
    },
    ("elasticmapreduce", "modifyInstanceGroupByName"): {
        **_CLUSTER,
        "InstanceGroup": _OBJECT,
        "InstanceGroupName": _TEXT,
    },
    ("elasticmapreduce", "setClusterTerminationProtection"): {**_CLUSTER, "TerminationProtected": {"type": "boolean"}},
    ("elasticmapreduce", "terminateCluster"): _CLUSTER,
    ("http", "invoke"): {**_CALL, "Authentication": _OBJECT, "InvocationConfig": _OBJECT, "Transform": _OBJECT},
}
_TYPES: Final = {
    "string": TEXT,
    "timestamp": TEXT,
    "integer": WHOLE,
    "long": WHOLE,
    "float": NUMBER,
    "double": NUMBER,
    "boolean": FLAG,
    "list": LIST,
    "map": OBJECT,
    "structure": OBJECT,
}
# Text for the service, any JSON for Step Functions, which writes it as text.
_JSON_TEXTS: Final = frozenset(
    {"Input", "MessageBody", "Message", "Detail", "Payload", "Body", "RequestBody", "SecretString"}
)
_PLAIN_OR_TYPED: Final = "AttributeValue"  # of DynamoDB: {"S": "text"}, for which definitions write the text itself too
_MOST_CHOICES: Final = 30


@dataclass(frozen=True)
class Member:
    """One parameter of a service, or a part of one."""

    shape: "Shape | None"
    name: str = ""
    is_read: bool = False
    """Whether it is the event of a function whose code tells all that is read of it."""

    def member(self, name: str) -> "Member":
        """Return a member of an object."""
        if self.shape is None or self.name in _JSON_TEXTS:
            return Member(None, is_read=self.is_read)
        if self.shape.type_name == "map":
            return Member(getattr(self.shape, "value", None))
        members: dict[str, Shape] = getattr(self.shape, "members", {})
        known = {one.lower(): shape for one, shape in members.items()}  # Step Functions writes them in PascalCase
        return Member(known.get(name.lower()), name)

    def item(self) -> "Member":
        """Return the items of a list."""
        return Member(getattr(self.shape, "member", None), is_read=self.is_read)

    def use(self) -> Use:
        """Return what the service does with a value in this place."""
        if self.shape is None or self.name in _JSON_TEXTS:
            return Use(must=True, passed_on=not self.is_read)
        kind = self.shape.type_name
        if kind == "blob" or self.shape.name == _PLAIN_OR_TYPED:
            return Use(must=True)
        is_whole = kind in ("structure", "map", "list")
        choices = tuple(cast(list[str], getattr(self.shape, "enum", None) or []))
        return Use(
            must=True,
            types=_TYPES.get(kind, ANY),
            needed=kind in _TYPES,
            allowed=choices if 0 < len(choices) <= _MOST_CHOICES else (),
            passed_on=is_whole,
        )


def parameters_of(resource: object) -> Member | None:
    """Return what the service of a task's resource takes; None if it is not known."""
    found = _RESOURCE.fullmatch(resource) if isinstance(resource, str) else None
    if found is None:
        return None
    service, action = found["service"], found["action"]
    own = None if found["sdk"] else _OPTIMIZED.get((service, action))
    if isinstance(own, dict):
        return Member(_made(service, action))
    model = _operation(*(own or (service, action)))
    return None if model is None else Member(model.input_shape)


def answer_of(resource: str, read: frozenset[str]) -> "Shape | None":
    """Return what the service of a task's resource answers; None if it is not known.

    A task that waits for a job answers with what describes the job, and no model says which structure that is: it is
    taken for the first one of the service that has all that is `read` of the answer, by names in lower case.
    """
    found = _RESOURCE.fullmatch(resource)
    own = None if found is None or found["sdk"] else _OPTIMIZED.get((found["service"], found["action"]))
    if found is None or isinstance(own, dict):
        return None
    service, action = own or (found["service"], found["action"])
    if found["form"] is None:
        model = _operation(service, action)
        return None if model is None else model.output_shape
    from botocore.model import StructureShape  # noqa: PLC0415 - as above

    if (whole := _service(service)) is None:
        return None
    structures = (one for one in map(whole.shape_for, whole.shape_names) if isinstance(one, StructureShape))
    return next((one for one in structures if read <= {name.lower() for name in one.members}), None)


@cache
def _made(service: str, action: str) -> "Shape":
    from botocore.model import DenormalizedStructureBuilder  # noqa: PLC0415 - only definitions that call services need it

    return DenormalizedStructureBuilder().with_members(cast(_Parameters, _OPTIMIZED[service, action])).build_model()


@cache
def _operation(service: str, action: str) -> "OperationModel | None":
    model = _service(service)
    by_name = {} if model is None else {name.lower(): name for name in model.operation_names}
    name = by_name.get(action.lower())
    return None if model is None or name is None else model.operation_model(name)


@cache
def _service(service: str) -> "ServiceModel | None":
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - as above

    try:
        return _session().get_service_model(_name_of(service))
    except BotoCoreError:
        return None


def _name_of(service: str) -> str:
    """Return what botocore calls a service: `redshift-data` for `redshiftdata`."""
    known = _session().get_available_services()
    by_name = {name.replace("-", ""): name for name in known}
    return service if service in known else _NAMES.get(service) or by_name.get(service, service)


@cache
def _session() -> "Session":
    from botocore.session import Session  # noqa: PLC0415 - as above

    return Session()
