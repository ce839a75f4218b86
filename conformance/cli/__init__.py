"""The command line `fencepost`: a module for each group of related commands."""
