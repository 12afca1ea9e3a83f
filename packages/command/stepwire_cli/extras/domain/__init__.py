"""What the command knows of the domain."""
