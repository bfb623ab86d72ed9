"""Which requests run in the next iteration: request state, KV blocks and the policies."""

from minibatch.scheduling.policies.chunked import Chunked
from minibatch.scheduling.policies.continuous import Continuous
from minibatch.scheduling.policies.dynamic import Dynamic
from minibatch.scheduling.policies.static import Static
from minibatch.scheduling.policy import POLICIES, Policy, find_policy, register

for _policy in (Static(), Dynamic(), Continuous(), Chunked()):
    register(_policy)

__all__ = ["POLICIES", "Policy", "find_policy", "register"]
