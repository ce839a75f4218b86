"""Check a revision: exhaustively, by random walks, and for promises over time."""
