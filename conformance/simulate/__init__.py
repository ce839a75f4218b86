"""Simulate whole groups on a virtual clock, and compute what a deployment costs.

`simulation` runs clients, `quiet_simulation` the same without the heartbeats that change nothing;
`scenario`, `deployment` and `perform` do to them what a deployment does, `simulate` says its cost.
"""
