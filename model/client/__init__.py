"""One pure client: what a consumer of the classic group protocol owes, as a state machine."""
