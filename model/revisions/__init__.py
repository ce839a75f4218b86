"""Every revision of the protocol by name: `kafka-4`, the KIP, its drafts, and the releases."""
