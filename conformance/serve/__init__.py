"""Serve the model as a coordinator for others: a broker on TCP, a program on stdio, a proxy."""
