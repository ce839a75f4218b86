"""Write and read the certificate of a client, and apply known failures to it."""
