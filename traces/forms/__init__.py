"""Convert a trace: ITF, Mermaid, pytest, CSV, messages of the adapter protocol."""
