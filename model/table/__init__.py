"""Define the language of the rules: expressions, features, effects, tables, soundness."""
