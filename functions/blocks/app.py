"""Block and unblock callers for an operator. Nothing is built before the first command."""

from stepwire.aws.blocks_function import BlocksHandler

handler = BlocksHandler()
