"""Random workloads and knobs for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from minibatch.scheduling.config import SchedulerConfig

lengths = st.tuples(st.integers(1, 40), st.integers(1, 24), st.floats(0, 40))
workloads = st.lists(lengths, min_size=1, max_size=12).map(lambda rows: sorted(rows, key=lambda row: row[2]))


@st.composite
def configs(draw) -> SchedulerConfig:
    slots = draw(st.integers(1, 6))
    return SchedulerConfig(
        max_num_seqs=slots,
        max_num_batched_tokens=draw(st.integers(slots, 48)),
        max_model_len=draw(st.integers(20, 64)),
        block_size=draw(st.integers(1, 16)),
        num_kv_blocks=draw(st.integers(1, 48)),
        kv_layout=draw(st.sampled_from(["paged", "contiguous"])),
        preemption_mode=draw(st.sampled_from(["recompute", "swap"])),
        watermark=draw(st.sampled_from([0.0, 0.01, 0.3])),
        max_wait=draw(st.sampled_from([0.0, 0.004, 0.05])),
        compute_padding=draw(st.booleans()),
        mix_prefill=draw(st.booleans()),
        queue_order=draw(st.sampled_from(["fcfs", "shortest", "priority", "fair"])),
        queue_ageing=draw(st.sampled_from([0.0, 1000.0])),
        long_prefill_token_threshold=draw(st.sampled_from([0, 1, 7])),
        schedule_conservativeness=draw(st.sampled_from([0.1, 1.0])),
    )
