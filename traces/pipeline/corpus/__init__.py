"""Generate, check, cover, minimise and triage corpora of traces."""
