"""The console: a page beside what is served.

For an endpoint of Stepwire it starts, watches and answers tasks by clicking; for another application it shows its
routes, functions, workflows, tables and queues.

The rules: it is served to this machine alone and is no part of a deployed stack; it changes tasks by MCP requests, as
any client does, and by what an extra adds; what it reads beside them (executions, messages) belongs to the local stack.
"""

from stepwire_local.console.site import Console, Watchers

__all__ = ["Console", "Watchers"]
