"""Run jobs on Spark, and watch streams of request logs."""
