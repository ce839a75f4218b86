"""Hold assignors to their promises: groups to try, promises, and the optimum."""
