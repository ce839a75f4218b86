"""Whole groups on a virtual clock: model clients against the model coordinator, reproducibly.

`simulation` runs clients, `quiet_simulation` the same without the heartbeats that change nothing;
`scenario`, `deployment` and `perform` do to them what a deployment does, `simulate` says its cost.
"""
