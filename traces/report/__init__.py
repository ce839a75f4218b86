"""Report results of cases: certificates as text, JSON, JUnit and pages; known failures.

A field of certificate.json is written in `report_folder`, a column of the terminal in
`report_text`, JUnit in `junit`, the HTML page in `certificate_page` with its template.
"""
