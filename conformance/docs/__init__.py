"""Makers of generated pages: the table, the revisions, the certificates."""
