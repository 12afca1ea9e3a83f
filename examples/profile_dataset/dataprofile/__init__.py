"""Profiles of CSV data: what the functions of the workflow `profile_dataset` are made of.

Pure, but for `storage`. The functions import this package by its plain name, because Lambda puts their folder on
sys.path; inside it every import is relative, so that tests can import it from the repository's root as well.
"""
