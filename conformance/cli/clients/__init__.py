"""Commands about client libraries."""
