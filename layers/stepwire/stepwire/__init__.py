"""Run AWS Step Functions workflows as MCP tasks.

The package is pure inside and thin outside: `protocol` and `tasks` know nothing of AWS nor of each other, only `aws`
imports boto3, and only the functions and the local stack import `aws`.
"""

__version__ = "1.0.0"
