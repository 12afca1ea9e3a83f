"""Zip files whose bytes depend on what is in them alone.

The rule: no time, no mode, no order of a folder and no place on the disk is in a zip file. Only zlib decides too: the
same version compresses to the same bytes.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can say
_MODE: Final = 0o100644 << 16  # a file that all may read; Lambda runs as another user than the one who packed it
_UNIX: Final = 3
_LEVEL: Final = 9


def packed(contents: Mapping[str, bytes]) -> bytes:
    """Return a zip file, with its members in the order of their names."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name in sorted(contents):
            member = zipfile.ZipInfo(name, _EARLIEST)
            member.create_system, member.external_attr = _UNIX, _MODE
            member.compress_type = zipfile.ZIP_STORED if name.endswith(".zip") else zipfile.ZIP_DEFLATED
            archive.writestr(member, contents[name])
    return made.getvalue()


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, by their path in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def digest_of(content: bytes) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
