"""Approvers, who decide questions in place of the caller."""
