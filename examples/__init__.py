"""The example workflows, apart from the kit: nothing of the kit imports from here, so all of it can be deleted."""
