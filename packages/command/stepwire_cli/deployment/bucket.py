"""The bucket from which CloudFormation takes the template and the zip files.

The rule: only a bucket of this account is used, whoever else has made one of that name. An object is named after its
content, so what is there already is not uploaded again; that it is the same, S3's own checksum says, and no name.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotAllowed, NotThere

PREFIX: Final = "stepwire/"
_WITHOUT_LOCATION: Final = "us-east-1"  # the Region that a request must not name
_DIGITS: Final = 16


@dataclass(frozen=True)
class Bucket:
    """A bucket of this account and Region."""

    calls: Calls
    account: str
    region: str
    name: str
    suffix: str = "amazonaws.com"
    """Of the hosts of AWS."""

    def is_there(self) -> bool:
        """Tell whether the bucket is there, as one that may be used.

        Raises:
            AccountError: it belongs to another account or Region.
        """
        try:
            found = self.calls.call("s3", "HeadBucket", Bucket=self.name, ExpectedBucketOwner=self.account)
        except NotThere:
            return False
        except NotAllowed:
            raise NotAllowed(
                f"the bucket {self.name} belongs to another account, or these credentials may not see it: add the "
                "permission s3:ListBucket, or name a bucket of yours with --bucket"
            ) from None
        region = found.get("BucketRegion", self.region)
        if region != self.region:
            raise AccountError(
                f"the bucket {self.name} is in {region}, and functions take their code from their own Region: name one "
                f"in {self.region} with --bucket, or leave the option out"
            )
        return True

    def lacking(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files that are not in the bucket."""
        return {name: content for name, content in files.items() if self._checksum_of(name) != _checksum(content)}

    def upload(self, files: Mapping[str, bytes], watch: Callable[[str], object]) -> None:
        """Upload files. The names must depend on the content."""
        for name, content in files.items():
            watch(name)
            self.calls.call("s3", "PutObject", **self._key(name), Body=content, ChecksumSHA256=_checksum(content))

    def url(self, name: str) -> str:
        """Return the URL of a file, as CloudFormation takes it."""
        return f"https://s3.{self.region}.{self.suffix}/{self.name}/{PREFIX}{name}"

    def _key(self, name: str) -> dict[str, str]:
        return {"Bucket": self.name, "Key": PREFIX + name, "ExpectedBucketOwner": self.account}

    def _checksum_of(self, name: str) -> str | None:
        """Return the SHA-256 that S3 has computed of a file; None: there is none, or S3 knows no such checksum."""
        try:
            return self.calls.call("s3", "HeadObject", **self._key(name), ChecksumMode="ENABLED").get("ChecksumSHA256")
        except NotThere:
            return None

    def create(self) -> None:
        """Create the bucket."""
        place = (
            {}
            if self.region == _WITHOUT_LOCATION
            else {"CreateBucketConfiguration": {"LocationConstraint": self.region}}
        )
        self.calls.call("s3", "CreateBucket", Bucket=self.name, **place)


def _checksum(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def bucket_in(calls: Calls, name: str | None) -> Bucket:
    """Return the bucket of this name in this account and Region; None: the one that this command makes.

    Raises:
        AccountError: there are no credentials, or no Region.
    """
    identity = calls.call("sts", "GetCallerIdentity")
    account, partition = identity["Account"], identity["Arn"].split(":")[1]
    if calls.region is None:
        raise AccountError("no Region: add --region, or set AWS_REGION")
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    return Bucket(calls, account, calls.region, name or f"stepwire-artifacts-{account}-{calls.region}", suffix)


def named(content: bytes, name: str, ending: str) -> str:
    """Return a name for a file that depends on its content."""
    return f"{name}-{hashlib.sha256(content).hexdigest()[:_DIGITS]}{ending}"
