"""The limits, and the sums they come from. The rule: no payload passes 262,144 bytes, the limit of Step Functions.

INLINE_BYTES: the first function answers with every value as a JSON string. The worst is a file of empty fields: one
byte, the delimiter, becomes three (`"",`), so 64 KiB become 192 KiB and leave room for names and braces.
COLUMNS: the columns' profiles are joined in one payload. The longest one is under 2,500 bytes (a test builds it: the
longest name and values, of four bytes a character), so 100 of them fit.
S3_BYTES and ROWS: what a function with 1,769 MB of memory profiles well within its time.
"""

from typing import Final

INLINE_BYTES: Final = 64 * 1024
S3_BYTES: Final = 32 * 1024 * 1024
ROWS: Final = 1_000_000
COLUMNS: Final = 100
NAME_CHARACTERS: Final = 100
SHOWN_CHARACTERS: Final = 40
"""Longer values are cut in the report."""
