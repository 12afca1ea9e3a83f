"""What the command knows of the event bus."""
