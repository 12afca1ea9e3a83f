"""Measurements that show whether a change made Stepwire slower, larger or more expensive."""
