"""Collect the simulated scenarios of clients, those of commits and transactions among them."""

from support import client_commit_scenarios, client_transaction_scenarios
from support.client_scenarios import SCENARIOS, broken_by

__all__ = ["SCENARIOS", "broken_by", "client_commit_scenarios", "client_transaction_scenarios"]
