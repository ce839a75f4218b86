"""The formulas in which properties are written, and what a property is."""
