"""Worker processes and the tasks that they run, for all floors."""
