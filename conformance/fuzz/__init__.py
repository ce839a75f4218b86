"""Fuzz: draw random plans, run them against a target, and report what fails."""
