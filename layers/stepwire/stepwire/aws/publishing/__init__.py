"""What Stepwire publishes: status change events on an event bus, audit entries, and metrics."""
