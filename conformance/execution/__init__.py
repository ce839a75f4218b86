"""Run one case against a target, judge what was recorded, and explain the verdict."""
