"""Measurements that a change to the hot path is held against."""
