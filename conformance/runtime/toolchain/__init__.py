"""Find, download and cache the programs and libraries that targets need."""
