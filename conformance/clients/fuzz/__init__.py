"""Search a client for what no scenario of the catalogue shows, with scenarios drawn at random."""
