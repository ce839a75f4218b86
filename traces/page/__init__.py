"""HTML pages in one file each: traces, certificates, findings, audits, nightly reports."""
