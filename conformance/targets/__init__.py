"""Start, reach and end targets; find a target by its name."""
