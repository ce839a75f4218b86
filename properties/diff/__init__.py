"""Two revisions side by side: the shortest sequence whose answers differ, or that there is none."""
