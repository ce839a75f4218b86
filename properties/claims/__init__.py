"""The properties: what must hold of groups, steps and answers; `registry` collects them all.

Of a group: `invariants` (formulas, also proved) and `world_properties` (functions, with clients).
Of a step: `steps…` (formulas) and `step_properties` (functions).  Of a history: `answers…`.
"""
