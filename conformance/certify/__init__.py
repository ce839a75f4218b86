"""Certify: run suites of cases against a target, and report the certificate.

A field of certificate.json is written in `report`, a column in the terminal in `console`, JUnit in
`junit`; the HTML page is `fencepost.traces.page.certificate_page` with its template, and the table
of all implementations in docs/certificates.md is `fencepost.conformance.docs.certificates_page`.
Also the lists of known failures, and the replay of a recorded trace.
"""
