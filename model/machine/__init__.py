"""The step function: finds the rule for a request or a timer, and carries out its effects."""
