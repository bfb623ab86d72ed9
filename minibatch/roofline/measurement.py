"""Measures a device's roofline: the fastest matrix products and the fastest reading of memory.

Both are the best of several tries, because a ceiling is what the device can do when left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from functools import partial

import torch

from minibatch.roofline.ceilings import Ceilings, Progress
from minibatch.roofline.devices import describe, parse_dtype, to_device

# Products of the kind that a GPT-2 prefill makes: rows x 768 x 3072, and a square one.
_CPU_PRODUCTS = ((512, 768, 3072), (512, 3072, 768), (1024, 1024, 1024))
_CUDA_PRODUCTS = ((4096, 4096, 4096), (8192, 8192, 8192))
_CPU_READ_BYTES = 512 * 2**20  # more than any last-level cache that one CPU has of its own
_CUDA_READ_BYTES = 2 * 2**30
_SECONDS_A_KERNEL = 0.8
_QUIET = 0.85
"""Products keep all threads busy: with a smaller share of their time on a core, other programs had the rest."""
_BUSY = " while other programs took part of the processor"


def measure_ceilings(device: torch.device | str, dtype: str, progress: Progress | None = None) -> Ceilings:
    """Measure both ceilings; about four seconds on a CPU. `source` says when, and whether anything disturbed it.

    FLOP/s: the best matrix product in `dtype`. Bytes/s: the best of summing, and of multiplying
    with a vector, an array larger than the caches, as decoding reads weights.

    Raises:
        ValueError: no such device or dtype on this machine.
    """
    where, kind = to_device(device), parse_dtype(dtype)
    report = progress or (lambda done: None)
    is_cuda = where.type == "cuda"
    products = _CUDA_PRODUCTS if is_cuda else _CPU_PRODUCTS
    began, began_cpu = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        flops = 0.0
        for i, (m, k, n) in enumerate(products):
            a, b = (torch.randn(shape, device=where).to(kind) for shape in ((m, k), (k, n)))
            seconds = _best_seconds(partial(torch.mm, a, b), where)
            flops = max(flops, 2 * m * n * k / seconds)
            report((i + 1) / (len(products) + 2))
        cores = (time.process_time() - began_cpu) / (time.perf_counter() - began)
        rows = (_CUDA_READ_BYTES if is_cuda else _CPU_READ_BYTES) // kind.itemsize // 4096
        matrix = torch.ones(rows, 4096, dtype=kind, device=where)
        vector = torch.ones(4096, dtype=kind, device=where)
        num_bytes = matrix.numel() * kind.itemsize
        by_sum = _best_seconds(lambda: matrix.sum(), where)
        report((len(products) + 1) / (len(products) + 2))
        by_product = _best_seconds(lambda: torch.mv(matrix, vector), where)
        report(1.0)
    return Ceilings(
        flops_per_s=flops,
        bytes_per_s=num_bytes / min(by_sum, by_product),
        device=describe(where),
        dtype=dtype,
        source=f"measured on {date.today()}{_BUSY if not is_cuda and cores < _QUIET * torch.get_num_threads() else ''}",
    )


def _best_seconds(run: Callable[[], object], device: torch.device) -> float:
    """The shortest of the runs that fit in a fraction of a second, at least three; in seconds."""

    def timed() -> float:
        began = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - began

    timed()
    best, count, until = float("inf"), 0, time.perf_counter() + _SECONDS_A_KERNEL
    while count < 3 or time.perf_counter() < until:
        best = min(best, timed())
        count += 1
    return best
