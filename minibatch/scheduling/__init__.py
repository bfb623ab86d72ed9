"""Which requests run in the next iteration: request state, KV blocks and the policies."""

from minibatch.scheduling.policies import LISTED, TEACHING
from minibatch.scheduling.policy import POLICIES, Policy, find_policy, register

for _policy in LISTED:
    register(_policy)

DEFAULTS = tuple(policy.name for policy in TEACHING)
"""The policies that are compared where nothing else is asked for."""

__all__ = ["DEFAULTS", "POLICIES", "Policy", "find_policy", "register"]
