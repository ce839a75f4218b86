"""Record what was sent to a coordinator and what it answered, and name it in words."""
