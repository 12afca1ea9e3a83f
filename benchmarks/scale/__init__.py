"""What happens with very many tasks and tools: the code itself runs, on simulated time, and its calls are counted.

`python -m benchmarks.scale` prints the tables of docs/performance.md, section Scale.
"""
