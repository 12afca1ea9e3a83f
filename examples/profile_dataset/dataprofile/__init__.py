"""Profiles of CSV data, used by the functions of the workflow `profile_dataset`.

Pure, except for `storage`. The functions import this package by its plain name, because Lambda puts their folder on
sys.path; inside it every import is relative, so that tests can import it from the repository's root as well.
"""
