"""Ask some steps of a run again (`--redo`), and set damaged lines of a run aside (`--repair`)."""
