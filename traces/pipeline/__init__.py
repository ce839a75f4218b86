"""Process traces and logs by the million, in one process or on Spark."""
