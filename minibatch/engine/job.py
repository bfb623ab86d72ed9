"""What a session serves: one workload, under which policies and knobs, on which model and device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minibatch.model.text import Tokenizer
from minibatch.recording.schema import Clock
from minibatch.roofline.ceilings import Ceilings
from minibatch.roofline.costs import ModelShape
from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.state import SchedulerState
from minibatch.workload.request import Request, SamplingParams
from minibatch.workload.requests_file import read_requests
from minibatch.workload.scenarios import find_scenario, scenario_requests, typed_requests
from minibatch.workload.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Job:
    """One workload to serve under several policies.

    Attributes:
        policies: names, in the order in which they run.
        scenario: a scenario's name, or None where `prompts`, `requests_file` or `traffic` give the requests.
        prompts: typed prompts, all arriving at once, each writing at most `max_tokens`.
        model: as `load_model` takes it.
        device: "auto", "cpu" or "cuda".
        dtype: "auto", or as `load_model` takes it.
        clock: "measured" runs the model; "modelled" computes durations from the device's ceilings.
        shape: of a model whose weights are not here, for the modelled clock alone. `model` is then
            only its name, `dtype` that of `shape`, and prompts are tokenised as for the bundled
            model: only their lengths matter.
        ceilings: of a device that is not here, for the modelled clock alone; its dtype is the job's.
    """

    policies: tuple[str, ...]
    config: SchedulerConfig
    scenario: str | None = None
    prompts: tuple[str, ...] = ()
    requests_file: Path | None = None
    traffic: Traffic | None = None
    max_tokens: int = 64
    model: str = "bundled"
    device: str = "auto"
    clock: Clock = "measured"
    dtype: str = "auto"
    seed: int = 0
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    shape: ModelShape | None = None
    ceilings: Ceilings | None = None


def requests_of(job: Job, tokenizer: Tokenizer | None, vocab_size: int) -> tuple[list[Request], str]:
    """The requests, and in words what they are."""
    sampling = SamplingParams(job.max_tokens, job.temperature, job.top_k, job.top_p)
    sources = [job.scenario is not None, bool(job.prompts), job.requests_file is not None, job.traffic is not None]
    if sum(sources) != 1:
        raise ValueError("give the requests in one way: a scenario, typed prompts, a requests file, a trace or lengths")
    if job.traffic is not None:
        count_tokens = None if tokenizer is None else lambda text: len(tokenizer.encode(text))
        return job.traffic.load(job.seed, vocab_size, sampling, count_tokens)
    codec = _need(tokenizer, job.model)
    if job.scenario is not None:
        return scenario_requests(find_scenario(job.scenario), codec, job.seed, sampling), job.scenario
    if job.prompts:
        return typed_requests(job.prompts, codec, job.seed, sampling), "typed prompts"
    return read_requests(job.requests_file or Path(), codec, job.seed, sampling), "requests file"


def _need(tokenizer: Tokenizer | None, model: str) -> Tokenizer:
    if tokenizer is None:
        raise ValueError(f'model "{model}" has no tokenizer: put its tokenizer.json beside its weights')
    return tokenizer


def check_fit(
    requests: Sequence[Request], config: SchedulerConfig, model: str, context: int, vocab_size: int, is_traffic: bool
) -> None:
    """Knobs and prompts that cannot work, as a sentence; requests that merely don't fit are rejected later.

    Of traffic, which nobody wrote by hand, prompts that are too long are rejected later as well.
    """
    if config.max_model_len > context:
        raise ValueError(
            f'max_model_len is {config.max_model_len} and model "{model}" reads at most {context} tokens: '
            f"use {context} or less"
        )
    for request in requests:
        if max(request.prompt_token_ids) >= vocab_size:
            raise ValueError(
                f'the tokenizer of model "{model}" knows more tokens than the model, {vocab_size}: '
                "put the tokenizer.json beside the weights that it was made for"
            )
        if request.num_prompt_tokens >= config.max_model_len and not is_traffic:
            raise ValueError(
                f"request {request.request_id} has a prompt of {request.num_prompt_tokens} tokens, and max_model_len "
                f"leaves room for {config.max_model_len - 1} and one to write: shorten it or raise max_model_len"
            )

    state = SchedulerState(config)
    rejections = [state.why_rejected(request) for request in requests]
    if all(rejections) and (first := rejections[0]):
        raise ValueError(f"no request can be served with these knobs: {first.sentence}")
