"""Ask some steps of a run again (`--redo`)."""
