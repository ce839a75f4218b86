"""The decision table of `kafka-4`: one module for each API, and one for timers and failover."""
