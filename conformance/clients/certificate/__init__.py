"""The certificate of a client: its results, files, pages, and known failures."""
