"""The kill matrix: which engine finds which mutant, with the shortest evidence of each."""
