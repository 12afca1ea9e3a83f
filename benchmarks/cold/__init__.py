"""Cold starts of function mcp and of other MCP servers on Lambda, measured in one run: `make bench`.

The rule: figures are ratios to a floor that ran in the same round, in CPU time, because the machine may be shared.
"""
