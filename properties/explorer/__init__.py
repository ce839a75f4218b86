"""Explore a transition system exhaustively: breadth first, in any number of processes."""
