"""Run every engine on every mutant, and list which engine finds which."""
