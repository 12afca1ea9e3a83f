"""What a poll hint costs and how late a client learns of an end, for recorded durations: `python -m benchmarks.hints`.

The rule: time is simulated, and the hints are those of the code (`Task.poll_hint`, `stepwire wrap`); the same durations
give the same figures on every machine.
"""
