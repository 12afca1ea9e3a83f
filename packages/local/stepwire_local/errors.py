"""The reasons why the local stack cannot start, each with a one-line message that says what to do.

LocalStackError
├── EngineError         the simulated AWS cannot be trusted (another moto version)
├── TemplateError       the template or its parameters are wrong, or need something that is not served
├── FunctionLoadError   a function's code, catalog or settings cannot be loaded
├── PortInUse           another process listens on the port
└── StubError           a stub's file is missing or wrong, or two stubs have one name
"""


class LocalStackError(Exception):
    """The local stack cannot start; the message says why and what to do."""


class EngineError(LocalStackError):
    """The installed moto is not the version that our patches are for."""


class TemplateError(LocalStackError):
    """The template cannot be served as it is."""


class FunctionLoadError(LocalStackError):
    """A function cannot be loaded, so every invocation of it would fail.

    Args:
        message: Which file, and why.
        kind: The type of the error that Lambda gives for it.
    """

    def __init__(self, message: str, kind: str = "Runtime.ImportModuleError") -> None:
        super().__init__(message)
        self.kind = kind


class PortInUse(LocalStackError):
    """The port is taken."""


class StubError(LocalStackError):
    """A stub cannot be used: its file is missing or wrong, or another one has its name."""
