"""The simulated scenarios of clients from all rooms, by what they show."""

from support import client_commit_scenarios
from support.client_scenarios import SCENARIOS, broken_by

__all__ = ["SCENARIOS", "broken_by", "client_commit_scenarios"]
