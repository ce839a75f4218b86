"""Audit request logs: was each logged answer right?"""
