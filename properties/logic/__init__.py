"""Write properties as formulas, and define what a property is."""
