"""Plain sentences about requests, answers and the steps of a trace."""
