"""Whole groups on a virtual clock: model clients against the model coordinator, reproducibly."""
