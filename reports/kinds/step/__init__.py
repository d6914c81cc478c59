"""Reports of recorded steps, whose target is one of the listed choices."""
