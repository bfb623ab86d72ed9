"""What is known of each engine whose scheduler is a policy here: its version, defaults and names of knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Preset:
    """An engine's scheduler.

    Attributes:
        engine: its name and the version whose rules these are.
        source: the files or the paper in which they were read.
        defaults: the engine's own, in words.
        knobs: the engine's names of knobs, by ours.
        leaves_out: what the engine does and this policy does not.
    """

    engine: str
    source: str
    defaults: str
    knobs: Mapping[str, str]
    leaves_out: tuple[str, ...]


_VLLM = {name: name for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len", "block_size")}
_TRTLLM = {"max_num_seqs": "max_batch_size", "max_num_batched_tokens": "max_num_tokens",
           "max_model_len": "max_seq_len", "block_size": "tokens_per_block"}  # fmt: skip
_NO_CACHE = "prefix caching, which is on by default"

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "vllm-v1": Preset(
            "vLLM V1, from 0.24 (2026)",
            "vllm/v1/core/sched/scheduler.py, vllm/v1/core/kv_cache_manager.py; PRs #37307, #44594",
            "8,192 tokens and 1,024 sequences on GPUs of 70 GiB or more except the A100, else 2,048 and 256; "
            "blocks of 16; watermark 0",
            _VLLM | {"watermark": "watermark", "long_prefill_token_threshold": "long_prefill_token_threshold"},
            (_NO_CACHE, "async scheduling, on by default", "one block, which vLLM keeps as a placeholder",
             "waits for grammars, LoRA slots and remote KV"),
        ),
        "vllm-v1-2025": Preset(
            "vLLM V1 of 2025",
            "vllm/v1/core/sched/scheduler.py before PR #37307 (March 2026)",
            "as vllm-v1",
            _VLLM | {"long_prefill_token_threshold": "long_prefill_token_threshold"},
            (_NO_CACHE, "one block, which vLLM keeps as a placeholder"),
        ),
        "vllm-v0": Preset(
            "vLLM V0 (0.4, 2024), chunked prefill off",
            "vllm/core/scheduler.py, vllm/core/block_manager_v1.py",
            "max(max_model_len, 2,048) tokens, 256 sequences, watermark 0.01",
            _VLLM | {"watermark": "watermark", "preemption_mode": "preemption_mode"},
            ("beams, several samples of a prompt", "a request that could never fit with the watermark is rejected as "
             "it arrives; vLLM drops it later, with a warning"),
        ),
        "sarathi": Preset(
            "Sarathi-Serve (OSDI 2024)",
            "sarathi/core/scheduler/sarathi_scheduler.py",
            "chunk_size 512 for the strict SLO, 2,048 for the relaxed one; watermark 0.01",
            {"max_num_batched_tokens": "chunk_size", "max_num_seqs": "max_num_seqs", "block_size": "block_size"},
            ("chunks that shrink as a prompt proceeds, an option", "pipeline parallelism"),
        ),
        "orca": Preset(
            "Orca (OSDI 2022)",
            "Algorithm 1 of the paper",
            "max_bs 32 in its evaluation",
            {"max_num_seqs": "max_bs", "num_kv_blocks": "n_slots"},
            ("several batches in flight in a pipeline", "memory reserved in one piece: it is set aside by count here"),
        ),
        "sglang": Preset(
            "SGLang (mid-2026)",
            "python/sglang/srt/managers/scheduler.py, schedule_policy.py, schedule_batch.py",
            "page_size 1, schedule_conservativeness 1.0, enable_mixed_chunk off",
            {"max_num_batched_tokens": "chunked_prefill_size", "max_num_seqs": "max_running_requests",
             "block_size": "page_size", "mix_prefill": "enable_mixed_chunk",
             "schedule_conservativeness": "schedule_conservativeness"},
            ("the radix cache, and the queue order lpm that uses it", "overlap scheduling, on by default",
             "max_prefill_tokens, prefill-decode intervals"),
        ),
        "trtllm-no-evict": Preset(
            "TensorRT-LLM, GUARANTEED_NO_EVICT, its default",
            "cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp, microBatchScheduler.cpp",
            "tokens_per_block 32, chunked context off",
            _TRTLLM,
            ("chunked context", "block reuse", "several micro batches in a pipeline"),
        ),
        "trtllm-max-utilization": Preset(
            "TensorRT-LLM, MAX_UTILIZATION",
            "cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp, microBatchScheduler.cpp",
            "tokens_per_block 32, chunked context off",
            _TRTLLM,
            ("chunked context", "block reuse", "several micro batches in a pipeline"),
        ),
    }
)  # fmt: skip
