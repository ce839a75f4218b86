"""What can be tested: the interface `Target`, and the registry that finds one by its name."""
