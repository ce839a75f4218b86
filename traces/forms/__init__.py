"""Other formats of a trace: ITF, Mermaid, pytest, CSV, and messages for the adapter protocol."""
