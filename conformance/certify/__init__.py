"""Certify: run suites of cases against a target, and report the certificate.

Also the lists of known failures, and the replay of a recorded trace.
"""
