"""Run the commands of `fencepost`: a module for each command."""
