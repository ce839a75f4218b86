"""Break models and clients on purpose, so that each checker is seen to catch a fault."""
