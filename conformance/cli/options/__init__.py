"""Options that several commands take: of a target, of a scope, of request logs."""
