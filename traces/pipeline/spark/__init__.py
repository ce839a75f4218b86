"""The engine for Spark, and streams of request logs."""
