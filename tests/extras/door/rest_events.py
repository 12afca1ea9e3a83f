"""What a REST API sends where an HTTP API has sent a recorded event."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from stepwire.json_text import as_object


def rest_event_of(event: Mapping[str, Any], authorizer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the same request as payload format 1.0 has it, with the context of a function authorizer."""
    context, query = event["requestContext"], parse_qs(event.get("rawQueryString") or "", keep_blank_values=True)
    method, resource = event["routeKey"].split(" ")
    headers: dict[str, str] = event.get("headers") or {}
    several = {name.title(): [value] for name, value in headers.items()}
    if event.get("cookies"):
        several["Cookie"] = ["; ".join(event["cookies"])]
    return {
        "resource": resource,
        "path": event["rawPath"],
        "httpMethod": method,
        "headers": {name: values[-1] for name, values in several.items()},
        "multiValueHeaders": several or None,
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": event.get("pathParameters"),
        "stageVariables": None,
        "requestContext": {
            "accountId": context["accountId"],
            "apiId": context["apiId"],
            **({"authorizer": {"principalId": "caller", "integrationLatency": 7, **authorizer}} if authorizer else {}),
            "httpMethod": method,
            "identity": _identity(as_object(as_object(context.get("authorizer")).get("iam"))),
            "path": f"/live{event['rawPath']}",
            "resourcePath": resource,
            "stage": "live",
        },
        "body": event.get("body"),
        "isBase64Encoded": event.get("isBase64Encoded", False),
    }


def _identity(signature: Mapping[str, Any]) -> dict[str, Any]:
    """Return who has signed the request; null where nobody has."""
    pool = as_object(signature.get("cognitoIdentity"))
    return {
        "accessKey": signature.get("accessKey"),
        "accountId": signature.get("accountId"),
        "caller": signature.get("callerId"),
        "cognitoAuthenticationProvider": None,
        "cognitoAuthenticationType": None,
        "cognitoIdentityId": pool.get("identityId"),
        "cognitoIdentityPoolId": pool.get("identityPoolId"),
        "principalOrgId": signature.get("principalOrgId"),
        "sourceIp": "203.0.113.7",
        "user": signature.get("userId"),
        "userAgent": "python-httpx/0.28.1",
        "userArn": signature.get("userArn"),
    }
