"""A question that somebody other than the caller decides."""
