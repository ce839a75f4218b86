"""Write HTML pages in one file: the toolkit, and the page of a trace."""
