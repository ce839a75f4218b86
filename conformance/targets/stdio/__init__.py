"""Test programs that speak the adapter protocol on stdin and stdout."""
