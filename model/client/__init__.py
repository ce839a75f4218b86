"""Model one client: what a consumer of the classic protocol owes, as a state machine."""
