"""What Stepwire costs on AWS: a simulation of tasks and polls over counted calls and listed prices.

`python -m benchmarks.cost` prints the tables of docs/cost.md.
"""
