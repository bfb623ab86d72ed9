"""Which requests run in the next iteration: request state, KV blocks and the policies."""

from minibatch.scheduling.policies import LISTED
from minibatch.scheduling.policy import POLICIES, Policy, find_policy, register

for _policy in LISTED:
    register(_policy)

__all__ = ["POLICIES", "Policy", "find_policy", "register"]
