"""A server that a run starts for its model."""
