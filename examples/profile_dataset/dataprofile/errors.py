"""The errors of the workflow. The rule: their names are an interface, because Lambda reports an exception's class name.

examples/workflows/profile_dataset.asl.yaml lists every name: `StorageUnavailable` is retried, the others end the
execution, with the message as its cause. A message says what is wrong and what would be right, because a model acts on
it.

    DatasetError
    ├── DatasetInvalid        the text is not a table we can read, or the arguments contradict each other
    ├── DatasetNotFound       no such object, or one that the functions may not read
    ├── DatasetRefused        the stack does not read from there, whatever it holds
    ├── DatasetTooLarge       over one of the limits of `limits`
    ├── DatasetChanged        the object was replaced while its columns were being profiled
    └── StorageUnavailable    S3 did not answer, or asked us to slow down
"""


class DatasetError(Exception):
    """An error that the caller can correct or wait out."""


class DatasetInvalid(DatasetError):
    """The dataset or an argument is invalid."""


class DatasetNotFound(DatasetError):
    """The dataset does not exist."""


class DatasetRefused(DatasetError):
    """The stack is not configured to read from this bucket."""


class DatasetTooLarge(DatasetError):
    """The dataset exceeds a limit."""


class DatasetChanged(DatasetError):
    """The dataset changed after the execution started."""


class StorageUnavailable(DatasetError):
    """S3 is temporarily unavailable."""
