"""What a run needs of the machine: signals, processor time, threads, versions, errors."""
