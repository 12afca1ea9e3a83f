"""`stepwire publish`: what a gateway or a registry takes of a server."""
