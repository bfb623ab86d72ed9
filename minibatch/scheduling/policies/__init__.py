"""The policies, one short file each. A new one is listed here: one import, one place in the order of views."""

from minibatch.scheduling.policies.chunked import Chunked
from minibatch.scheduling.policies.continuous import Continuous
from minibatch.scheduling.policies.dynamic import Dynamic
from minibatch.scheduling.policies.orca import Orca
from minibatch.scheduling.policies.sarathi import Sarathi
from minibatch.scheduling.policies.sglang import SGLang
from minibatch.scheduling.policies.static import Static
from minibatch.scheduling.policies.trtllm import MaxUtilization, NoEvict
from minibatch.scheduling.policies.vllm_v0 import VllmV0
from minibatch.scheduling.policies.vllm_v1 import VllmV1, VllmV1Of2025
from minibatch.scheduling.policy import Policy

TEACHING: tuple[Policy, ...] = (Static(), Dynamic(), Continuous(), Chunked())
"""One idea each; what is compared where nothing else is asked for."""
ENGINES: tuple[Policy, ...] = (
    VllmV1(), VllmV1Of2025(), VllmV0(), Sarathi(), Orca(), SGLang(), NoEvict(), MaxUtilization(),
)  # fmt: skip
"""The schedulers of engines that people run."""
LISTED: tuple[Policy, ...] = (*TEACHING, *ENGINES)
