"""URLs of objects in S3: signed with Signature Version 4, and on the Region's own host, in every Region of AWS."""

from urllib.parse import parse_qs, urlsplit

import pytest
from boto3.session import Session

from stepwire.aws.clients import s3_client
from stepwire.aws.s3 import Objects

SESSION = Session()  # one session, because each new session loads botocore's data of S3 and of all Regions
REGIONS = [
    region
    for partition in SESSION.get_available_partitions()
    for region in SESSION.get_available_regions("s3", partition)
]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set fake credentials, because signing needs no call to AWS."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")


@pytest.mark.parametrize("region", REGIONS)
def test_a_url_is_signed_with_version_4_for_its_own_region(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 refuses Signature Version 2 for objects that a KMS key encrypts."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)

    url = urlsplit(Objects(s3_client).sign("my-reports", "2026/a report.csv"))

    query = parse_qs(url.query)
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert f"/{region}/s3/aws4_request" in query["X-Amz-Credential"][0]
    assert query["X-Amz-Expires"] == ["900"]
    assert url.netloc.startswith(f"my-reports.s3.{region}.")
    assert url.path == "/2026/a%20report.csv"


def test_a_bucket_whose_name_has_dots_is_in_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate of S3 does not cover such a host."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")

    url = urlsplit(Objects(s3_client).sign("my.reports", "a.csv"))

    assert (url.netloc, url.path) == ("s3.eu-central-1.amazonaws.com", "/my.reports/a.csv")
