"""Compare the assignors with Java's, member by member."""
