"""An agent that a webhook wakes."""
