"""The benchmarks of the extras, a module each."""
