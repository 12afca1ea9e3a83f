"""From a workflow's end to the client's knowing it, on the local stack: `python -m benchmarks.end_to_end`.

The rule: the stack is that of the templates, with the parameters of a deployment, in a process of its own; clients do
as the server says, and nothing else. Real seconds pass, so these are figures, and no test has limits for them.
"""
