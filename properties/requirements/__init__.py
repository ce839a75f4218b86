"""Judge a client: the table of what it owes, the evidence, the judges."""
