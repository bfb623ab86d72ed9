"""The knobs of a run as widgets, one for each field of `SchedulerConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from minibatch.scheduling.config import SchedulerConfig

HELP: dict[str, str] = {
    "max_num_seqs": "Slots: most requests that run at once.",
    "max_num_batched_tokens": "Token budget: most tokens that one iteration may compute.",
    "max_model_len": "Most tokens of a request, prompt and output.",
    "block_size": "Tokens of a KV block, 1 to 64.",
    "num_kv_blocks": "KV blocks of the pool.",
    "kv_layout": "Paged: blocks as a request grows. Contiguous: room for max_model_len at admission.",
    "preemption_mode": "Recompute: drop the KV and prefill again. Swap: copy it to host memory and back.",
    "watermark": "Share of the pool that an admission must leave free.",
    "max_wait": "Longest that the dynamic policy waits for a full batch, in seconds.",
    "compute_padding": "Static and dynamic batches compute padded positions and finished slots.",
    "mix_prefill": "Continuous batching runs new prompts together with the decodes.",
}


def knob_widgets(scenario: str, preset: Mapping[str, Any]) -> dict[str, Any]:
    """Every knob by name. A scenario keeps its own values, which start from `preset`."""
    kinds = get_type_hints(SchedulerConfig)
    values = {}
    for knob in fields(SchedulerConfig):
        start = preset.get(knob.name, knob.default)
        values[knob.name] = _widget(knob.name, kinds[knob.name], start, f"knob {scenario} {knob.name}")
    return values


def _widget(name: str, kind: Any, start: Any, key: str) -> Any:
    text = HELP.get(name)
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return st.selectbox(name, choices, index=choices.index(start), key=key, help=text)
    if kind is bool:
        return st.checkbox(name, value=start, key=key, help=text)
    if kind is int:
        # No limits here: SchedulerConfig says in a sentence what it refuses.
        return st.number_input(name, value=start, step=1, key=key, help=text)
    return st.number_input(name, value=float(start), step=0.01, format="%.3g", key=key, help=text)
