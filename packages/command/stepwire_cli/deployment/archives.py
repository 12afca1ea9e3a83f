"""Zip files that others made: read within bounds, under names that no file system misunderstands.

The rule: nothing is unpacked before its size and its name are known to be allowed. A size that lies changes nothing,
because no more than it says is read.
"""

import io
import re
import struct
import zipfile
import zlib
from typing import Final

LARGEST: Final = 300_000_000
"""Bytes of a zip file and of what is in it, together."""
STRICT: Final = re.compile(r"(?:(?!\.\.?/)[A-Za-z0-9._-]+/)*(?!\.\.?\Z)[A-Za-z0-9._-]+")
"""The names of what is in a release."""
RELATIVE: Final = re.compile(r"(?:(?!\.\.?/)[^\x00-\x1f\x7f/\\:]+/)*(?!\.\.?\Z)[^\x00-\x1f\x7f/\\:]+")
"""The names of files below a folder, which their authors choose."""
_TOO_LARGE: Final = f"it has more than {LARGEST // 1_000_000} MB"
_MOST_MEMBERS: Final = 50_000
_ENTRY: Final = b"PK\x01\x02"
"""How each entry of a table of contents begins."""
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # Python reads the others without a bound
_FAULTS: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, LookupError, ArithmeticError, OSError, RuntimeError),
)
"""What reading a damaged zip file raises beside ValueError."""


def contents_of(archive: bytes, names: re.Pattern[str]) -> dict[str, bytes]:
    """Return the members of a zip file, by their names, each of which must match.

    Raises:
        ValueError: it is no zip file, is damaged or too large, or has a member that is not allowed.
    """
    if len(archive) > LARGEST:
        raise ValueError(_TOO_LARGE)
    # A file in a zip file may be a zip file, so this counts too many rather than too few.
    if archive.count(_ENTRY) > _MOST_MEMBERS:
        raise ValueError(f"it has more than {_MOST_MEMBERS:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            members = opened.infolist()
            _check(members, names, LARGEST - len(archive))
            return {one.filename: _read(opened, one) for one in members}
    except _FAULTS as error:
        raise ValueError(str(error) or type(error).__name__) from None


def _check(members: list[zipfile.ZipInfo], names: re.Pattern[str], most: int) -> None:
    for one in members:
        if not names.fullmatch(one.filename):
            raise ValueError(f"a file in it has the name {one.filename[:100]!r}")
        if one.compress_type not in _METHODS:
            raise ValueError(f"{one.filename} is compressed in a way that is not supported")
    if len({one.filename for one in members}) < len(members):
        raise ValueError("two files in it have the same name")
    if sum(one.file_size for one in members) > most:
        raise ValueError(_TOO_LARGE)


def _read(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with opened.open(member) as file:
        return file.read(member.file_size)  # of `ZipFile.read`, the size that the member claims is no bound
