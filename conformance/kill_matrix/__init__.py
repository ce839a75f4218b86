"""The kill matrix: the models that are broken on purpose, and what each engine finds."""
