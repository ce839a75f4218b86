"""Judge a recorded run, and explain the verdict in a sentence."""
