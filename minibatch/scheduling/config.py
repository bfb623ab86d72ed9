"""The knobs of a run, under vLLM's names where vLLM has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from minibatch.workload.request import LONGEST_S

KVLayout = Literal["paged", "contiguous"]
PreemptionMode = Literal["recompute", "swap"]
QueueOrder = Literal["fcfs", "shortest", "priority", "fair"]


CHOICES = {"kv_layout": KVLayout, "preemption_mode": PreemptionMode, "queue_order": QueueOrder}
"""The knobs that choose among words."""

LARGEST_AGEING = 1_000_000
_LARGEST_BUDGET = 1 << 30
_LARGEST = {
    "max_num_seqs": 65_536,
    "max_num_batched_tokens": _LARGEST_BUDGET,
    "max_model_len": 1 << 30,
    "block_size": 64,
    "num_kv_blocks": 4_000_000,
}

KNOB_HELP = {
    "max_num_seqs": "slots: most requests that run at once",
    "max_num_batched_tokens": "token budget of an iteration; whole-prompt policies take at least max_model_len",
    "max_model_len": "most tokens of a request, prompt and output",
    "block_size": "tokens of a KV block, 1 to 64",
    "num_kv_blocks": "KV blocks of the pool",
    "kv_layout": "blocks as a request grows, or max_model_len reserved in one piece",
    "preemption_mode": "drop a victim's KV and prefill again, or copy it to host memory and back",
    "watermark": "share of the pool that an admission must leave free",
    "max_wait": "seconds that the dynamic policy's window stays open",
    "compute_padding": "static and dynamic batches compute padded positions and finished slots",
    "mix_prefill": "continuous batching runs new prompts together with the decodes, as Orca did; "
    "SGLang's enable_mixed_chunk",
    "queue_order": "who enters next: first come, shortest prompt, lowest priority number, or the tenant served least",
    "queue_ageing": "with queue_order shortest, prompt tokens that a second of waiting is worth",
    "long_prefill_token_threshold": "vllm-v1: most tokens of a prompt in an iteration; 0 sets no limit",
    "schedule_conservativeness": "sglang: how much of max_tokens the running are expected to generate",
}
"""Each knob in a line."""


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """Every knob of a run.

    Attributes:
        max_num_seqs: slots: most requests that run at once.
        max_num_batched_tokens: token budget of an iteration. Policies that run whole prompts need
            room for the longest prompt, so they take `max_model_len` where that is more.
        max_model_len: most tokens of a request, prompt and output.
        block_size: tokens of a KV block, 1 to 64.
        num_kv_blocks: KV blocks of the pool.
        kv_layout: "paged" gives a request blocks as it grows; "contiguous" reserves
            `max_model_len` tokens in one piece at admission.
        preemption_mode: "recompute" drops a victim's KV and prefills it again; "swap" copies it to
            host memory and back.
        watermark: share of the pool that an admission must leave free, 0 to below 1.
        max_wait: longest that the dynamic policy's window stays open, in seconds.
        compute_padding: static and dynamic batches compute padded prompt positions and finished
            slots, as a padded server does. False computes neither, so that what remains lost is
            the idle slots alone.
        mix_prefill: continuous batching runs new prompts together with the decodes (as Orca did)
            instead of alone (as vLLM V0 did). SGLang has it as `enable_mixed_chunk`.
        queue_order: who enters next: "fcfs", first come; "shortest", the shortest prompt, aged by
            `queue_ageing`; "priority", the lowest number; "fair", the tenant that was served least.
        queue_ageing: with "shortest", prompt tokens that a second of waiting is worth.
        long_prefill_token_threshold: vLLM V1 prefills at most so many tokens of a prompt in an
            iteration; 0 sets no limit.
        schedule_conservativeness: SGLang's estimate of what the running will generate, in parts of
            its default.
    """

    max_num_seqs: int = 8
    max_num_batched_tokens: int = 64
    max_model_len: int = 1024
    block_size: int = 16
    num_kv_blocks: int = 256
    kv_layout: KVLayout = "paged"
    preemption_mode: PreemptionMode = "recompute"
    watermark: float = 0.01
    max_wait: float = 0.05
    compute_padding: bool = True
    mix_prefill: bool = False
    queue_order: QueueOrder = "fcfs"
    queue_ageing: float = 1000.0
    long_prefill_token_threshold: int = 0
    schedule_conservativeness: float = 1.0

    def __post_init__(self) -> None:
        for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "block_size", "num_kv_blocks"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value}: use a whole number of at least 1")
            if value > _LARGEST[name]:
                raise ValueError(f"{name} is {value}: use at most {_LARGEST[name]:,}")
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise ValueError(
                f"max_num_batched_tokens is {self.max_num_batched_tokens}, less than max_num_seqs "
                f"({self.max_num_seqs}): every slot must be able to get a token in an iteration"
            )
        if not 0 <= self.watermark < 1:
            raise ValueError(f"watermark is {self.watermark}: use a share from 0 to below 1")
        if not 0 <= self.max_wait <= LONGEST_S:
            raise ValueError(f"max_wait is {self.max_wait}: use 0 to {LONGEST_S:,} seconds")
        if not 0 <= self.queue_ageing <= LARGEST_AGEING:
            raise ValueError(f"queue_ageing is {self.queue_ageing}: use 0 to {LARGEST_AGEING:,} tokens a second")
        threshold = self.long_prefill_token_threshold
        if not isinstance(threshold, int) or isinstance(threshold, bool) or not 0 <= threshold <= _LARGEST_BUDGET:
            raise ValueError(
                f"long_prefill_token_threshold is {threshold}: use a whole number from 0 (no limit) to "
                f"{_LARGEST_BUDGET:,}"
            )
        if not 0 < self.schedule_conservativeness <= 10:
            raise ValueError(
                f"schedule_conservativeness is {self.schedule_conservativeness}: use more than 0, at most 10"
            )
        for name, kind in CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                choices = " or ".join(get_args(kind))
                raise ValueError(f"{name} is {getattr(self, name)!r}: use {choices}")

    @property
    def watermark_blocks(self) -> int:
        """Blocks that an admission leaves free."""
        return int(self.watermark * self.num_kv_blocks)
