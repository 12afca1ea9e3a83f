"""The rules of refunds: what the functions of the workflow `approve_refund` are made of.

Pure. The functions import this package by its plain name, because Lambda puts their folder on sys.path; inside it every
import is relative, so that tests can import it from the repository's root as well.
"""
