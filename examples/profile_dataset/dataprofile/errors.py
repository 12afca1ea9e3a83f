"""The errors of the workflow. The rule: their names are its interface, for Lambda reports an exception by its class.

statemachines/profile_dataset.asl.yaml lists every name: `StorageUnavailable` is tried again, the others end the
execution, with the message as its cause. A message says what is wrong and what would be right: a model acts on it.

    DatasetError
    ├── DatasetInvalid        the text is not a table we can read, or the arguments contradict each other
    ├── DatasetNotFound       no such object, or one that the functions may not read
    ├── DatasetRefused        the stack does not read from there, whatever it holds
    ├── DatasetTooLarge       over one of the limits of `limits`
    ├── DatasetChanged        the object was replaced while its columns were being profiled
    └── StorageUnavailable    S3 did not answer, or asked us to slow down
"""


class DatasetError(Exception):
    """Something the caller can put right, or wait for."""


class DatasetInvalid(DatasetError):
    """The dataset, or an argument, is not what it should be."""


class DatasetNotFound(DatasetError):
    """There is no such dataset."""


class DatasetRefused(DatasetError):
    """The stack was not deployed to read from there."""


class DatasetTooLarge(DatasetError):
    """The dataset is over a limit."""


class DatasetChanged(DatasetError):
    """The dataset is not the one that the execution began with."""


class StorageUnavailable(DatasetError):
    """S3 cannot be asked right now."""
