"""Was each answer right?  Segments of a group's log are checked with the oracle."""
