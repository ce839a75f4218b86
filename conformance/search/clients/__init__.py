"""Search a client with scenarios drawn at random."""
