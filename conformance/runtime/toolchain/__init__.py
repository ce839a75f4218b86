"""Programs and libraries that targets need: found, downloaded, cached."""
