"""Measure how fast the model, the explorer, the audit and the pipeline are."""
