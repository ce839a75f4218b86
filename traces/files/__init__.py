"""The trace file and its schema, the corpus of committed traces, known causes, runs as traces."""
