"""Erase what is held of a caller for an operator. Nothing is built before the first command."""

from stepwire.aws.erasures_function import ErasuresHandler

handler = ErasuresHandler()
