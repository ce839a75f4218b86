"""Store files and tables of the pipeline: places, manifests, rows, states of streams."""
