"""The oracle: whether some run of the model explains what was sent and answered."""
