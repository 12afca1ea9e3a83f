"""The rules of refunds, used by the functions of the workflow `approve_refund`.

Pure. The functions import this package by its plain name, because Lambda puts their folder on sys.path; inside it every
import is relative, so that tests can import it from the repository's root as well.
"""
