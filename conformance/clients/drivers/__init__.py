"""Drivers: small programs, each around one client library, that speak client driver protocol 1."""
