"""Who runs in the next iteration: request state, KV blocks and the policies."""

from minibatch.scheduling.chunked import Chunked
from minibatch.scheduling.continuous import Continuous
from minibatch.scheduling.dynamic import Dynamic
from minibatch.scheduling.policy import POLICIES, Policy, find_policy, register
from minibatch.scheduling.static import Static

for _policy in (Static(), Dynamic(), Continuous(), Chunked()):
    register(_policy)

__all__ = ["POLICIES", "Policy", "find_policy", "register"]
