"""What a client owes as a member of a group: the table of obligations, as data."""
