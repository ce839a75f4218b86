"""List the cases of the consumer protocol, a module for each request, in one fixed order."""
