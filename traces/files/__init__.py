"""Read and write trace files, and the corpus of committed traces."""
