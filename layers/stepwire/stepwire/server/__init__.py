"""The MCP server: one HTTP request in, one HTTP response out, for both protocol eras.

It reads a request, calls the engine and renders the reply. It decides nothing about tasks, and stores nothing.
"""
