"""Step Functions: start, stop and describe executions, and read the events it sends."""
