"""What the command knows of the key of one's own."""
