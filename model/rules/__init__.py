"""The decision table: one module per API, one per kind of timer, each ending in its `TABLE`."""
