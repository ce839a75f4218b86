"""Certify: run suites of cases against a target, and report the certificate.

`report` writes certificate.json, `console` prints, `junit` is for CI; the HTML page is made in
`fencepost.traces.page`.  Also the lists of known failures, and the replay of a recorded trace.
"""
