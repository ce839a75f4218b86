"""Drive client libraries: a small program for each, which speaks client driver protocol 1."""
