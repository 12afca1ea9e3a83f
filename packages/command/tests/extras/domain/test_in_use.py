"""What `stepwire upgrade --with` says of a domain, before it leads nowhere."""

import pytest

from packages.command.tests.table import TableOfAnEndpoint

URL = "https://mcp.example.com/mcp"


@pytest.mark.parametrize(
    ("certificate", "seen"), [("", {}), ("arn:aws:acm:one", {"the address that clients call": URL})]
)
def test_a_domain_is_in_use_where_it_has_a_certificate(
    certificate: str, seen: dict[str, str], table: TableOfAnEndpoint
) -> None:
    assert table.seen("domain", parameters={"CertificateArn": certificate, "EndpointUrl": URL}) == seen
