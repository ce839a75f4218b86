"""Pages for people: a trace step by step, a certificate, the findings of a search."""
