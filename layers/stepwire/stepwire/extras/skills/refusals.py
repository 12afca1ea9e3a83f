"""The error of the methods `skills/*`."""

from stepwire.errors import UnknownResource


class UnknownSkill(UnknownResource):
    """No skill that this caller is served has that URI."""

    words = "No skill is served at this URI. skills/list names the skills there are."
