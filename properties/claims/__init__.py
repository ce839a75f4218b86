"""The properties: what must hold of groups, steps and answers, and the registry of all."""
