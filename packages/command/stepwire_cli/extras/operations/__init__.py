"""What the command knows of the probe and the archive of the audit."""
