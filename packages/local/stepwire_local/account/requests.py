"""What a request to AWS over HTTP asks: the operation and its parameters, and how a refusal of it looks.

The names are botocore's. Moto reads requests; the services whose signatures have another name are listed here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import UnknownServiceError
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import determine_request_protocol, normalize_request
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from werkzeug.exceptions import HTTPException

from stepwire_local.gateway.http_api import Response

_BY_SIGNATURE: Final = {
    "email": "ses",
    "monitoring": "cloudwatch",
    "states": "stepfunctions",
    "tagging": "resourcegroupstaggingapi",
}


@dataclass(frozen=True)
class Asked:
    """A call of an operation."""

    service: str
    operation: str
    params: Mapping[str, Any]


def read_request(request: AWSPreparedRequest, signed_for: str) -> Asked | None:
    """Return what a request asks; None if no operation of the service that it is signed for looks like it."""
    service, normal = _BY_SIGNATURE.get(signed_for, signed_for), normalize_request(request)
    try:
        model = get_service_model(service)
        operation, found = get_service_router(service).match(normal)
        parser: Any = PROTOCOL_PARSERS[determine_request_protocol(model, normal.content_type)]
    except (HTTPException, NotImplementedError, LookupError, UnknownServiceError):
        return None
    params = parser(operation).parse(
        {
            "method": normal.method,
            "values": normal.values,
            "headers": normal.headers,
            "body": normal.data,
            "url_path": normal.path,
            "url_params": found,
        }
    )
    return Asked(service, operation.name, params)


def refused(service: str, status: int, kind: str, message: str) -> Response:
    """Return a refusal as the clients of a service read it."""
    protocol = _protocol(_BY_SIGNATURE.get(service, service))
    if protocol in ("query", "ec2", "rest-xml"):
        error = ET.Element("Error")
        ET.SubElement(error, "Code").text, ET.SubElement(error, "Message").text = kind, message
        root = error
        if service != "s3":
            root = ET.Element("ErrorResponse")
            root.append(error)
        return Response(status, [("content-type", "text/xml")], ET.tostring(root, encoding="utf-8"))
    body = json.dumps({"__type": kind, "message": message}).encode()
    return Response(status, [("content-type", "application/x-amz-json-1.0"), ("x-amzn-errortype", kind)], body)


def _protocol(service: str) -> str:
    """Return the protocol of a service; empty where there is no such service."""
    try:
        return str(get_service_model(service).protocol) if service else ""
    except UnknownServiceError:
        return ""
