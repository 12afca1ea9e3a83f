"""Mutation testing of the kit, `make mutants`: is a small change of the code found by a test, and by which?

A mutant is the kit with one small change, of those that mutmut makes. The tests are collected once; each mutant is
tried in a process forked from there, in which the changed code has taken the place of the code (patching.py), with the
tests that run the changed lines (reaching.py), until one fails (trying.py). docs/mutants.md is made of what came out
(page.py), and of what was judged by hand: equivalent.csv.
"""
