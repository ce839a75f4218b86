"""Name each revision of the protocol: `kafka-4`, the KIP, its drafts, and the releases."""
