"""Define options that several commands take: targets, known failures, logs, scopes."""
