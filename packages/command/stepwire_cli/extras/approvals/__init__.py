"""What the command knows of approvers, who decide questions in place of the caller."""
