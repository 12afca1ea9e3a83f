"""The example workflows and the demo. Nothing else imports from here, so this folder can be deleted."""
