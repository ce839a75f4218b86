"""Test brokers at an address: connections, security, versions, failovers, clean-up."""
