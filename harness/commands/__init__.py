"""The command line, one module per command; modules are imported when their command is called."""
