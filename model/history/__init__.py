"""Record requests to a coordinator and its answers, and describe them in words."""
