"""An AWS account as the command sees it: its state machines, their runs, and the tools that are registered.

Everything is read through `calls`, which stays within the quotas of AWS and puts its errors into one line each.
Only `registering` writes.
"""
