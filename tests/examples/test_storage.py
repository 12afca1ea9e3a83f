"""Transient errors of S3 get the one error name that the workflow retries."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from stepwire_local.lambdas.invocations import Failed
from tests.examples.stacks import function_alone
from tests.ports import free_port


class SlowDown(BaseHTTPRequestHandler):
    """Answers as S3 does when it throttles."""

    def do_GET(self) -> None:
        body = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
        self.send_response(503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class BreaksOff(BaseHTTPRequestHandler):
    """Sends less than it announces."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.send_header("ETag", '"1"')
        self.end_headers()
        self.wfile.write(b"a,b\n")


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Generator[str]:
    """Serve on a port of 127.0.0.1; return the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def error_of_reading_from(endpoint: str) -> dict[str, str]:
    """Invoke read_dataset with another S3; return the error as Lambda reports it."""
    variables = {
        "PROFILE_BUCKET": "datasets",
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    outcome = function_alone("ReadDatasetFunction", **variables).invoke(
        json.dumps({"s3_uri": "s3://datasets/file.csv"})
    )
    assert isinstance(outcome, Failed)
    return json.loads(outcome.payload)


@pytest.mark.parametrize("handler", [SlowDown, BreaksOff])
def test_an_s3_that_cannot_serve_is_unavailable(handler: type[BaseHTTPRequestHandler]) -> None:
    with served(handler) as endpoint:
        error = error_of_reading_from(endpoint)

    assert error["errorType"] == "StorageUnavailable"


def test_an_s3_that_cannot_be_reached_is_unavailable() -> None:
    error = error_of_reading_from(f"http://127.0.0.1:{free_port()}")

    assert error["errorType"] == "StorageUnavailable"


def test_without_a_bucket_nothing_is_read_from_s3() -> None:
    function = function_alone("ReadDatasetFunction", PROFILE_BUCKET="")

    outcome = function.invoke(json.dumps({"s3_uri": "s3://datasets/file.csv"}))

    assert isinstance(outcome, Failed)
    error = json.loads(outcome.payload)
    assert error["errorType"] == "DatasetRefused"
    assert "deployed without ProfileBucketName" in error["errorMessage"]
