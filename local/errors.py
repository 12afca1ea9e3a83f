"""What can keep the local stack from starting, each with one line that a person can act on.

LocalStackError
├── EngineError         the simulated AWS cannot be trusted (another moto version)
├── TemplateError       the template or its parameters are wrong, or need something that is not served
├── FunctionLoadError   a function's code, catalog or settings cannot be loaded
└── PortInUse           somebody else listens on the port
"""


class LocalStackError(Exception):
    """The local stack cannot start; the message says why and what would help."""


class EngineError(LocalStackError):
    """The library that simulates AWS is not the one that our patches are for."""


class TemplateError(LocalStackError):
    """The template cannot be served as it is."""


class FunctionLoadError(LocalStackError):
    """A function cannot be loaded, so every invocation of it would fail."""


class PortInUse(LocalStackError):
    """The port is taken."""
