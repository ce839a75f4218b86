"""State the properties of groups, steps and answers, each under its id."""
