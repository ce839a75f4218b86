"""Search for plans on which two targets differ."""
