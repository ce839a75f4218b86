"""Generate pages: the table, the revisions, the certificates, the map of the rooms."""
