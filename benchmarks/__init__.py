"""Measurements to compare a change of the hot path with."""
