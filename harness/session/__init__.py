"""A plan to records and numbers: dialogues fed to the engine, results written and summarised."""
