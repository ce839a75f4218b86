"""Corpora of generated traces: generate, check, cover, minimise, triage, explore."""
