"""Read and write trace files, and lists of known failures."""
