"""The policies, one short file each. A new one is listed here: one import, one place in the order of views."""

from minibatch.scheduling.policies.chunked import Chunked
from minibatch.scheduling.policies.continuous import Continuous
from minibatch.scheduling.policies.dynamic import Dynamic
from minibatch.scheduling.policies.static import Static
from minibatch.scheduling.policy import Policy

LISTED: tuple[Policy, ...] = (Static(), Dynamic(), Continuous(), Chunked())
