"""Run client libraries against a broker, and certify them."""
