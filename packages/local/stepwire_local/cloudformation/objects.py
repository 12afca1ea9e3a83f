"""Objects that a developer gives to the local S3: the files in the folder `buckets` beside a template.

The rule: `buckets/<bucket>/<key>`; the bucket is named by its logical id or its name. One that no template has is made.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError, ParamValidationError

from stepwire_local.errors import TemplateError

FOLDER: Final = "buckets"


def put_objects(beside: Path, physical_ids: Mapping[str, str], s3: Any) -> None:
    """Put the files into their buckets.

    Raises:
        TemplateError: a folder's name can be no bucket, or a file cannot be read.
    """
    folder = beside / FOLDER
    for bucket in sorted(path for path in folder.glob("*") if path.is_dir()):
        try:
            _fill(s3, physical_ids.get(bucket.name, bucket.name), bucket)
        except (ClientError, ParamValidationError, OSError) as error:
            raise TemplateError(f"{bucket}: {' '.join(str(error).split())}") from error


def _fill(s3: Any, name: str, folder: Path) -> None:
    if name not in {one["Name"] for one in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=name)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            s3.put_object(Bucket=name, Key=file.relative_to(folder).as_posix(), Body=file.read_bytes())
