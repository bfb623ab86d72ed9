"""Train the bundled model: a GPT-2 of about 4 M parameters that tells stories.

    python assets/storyteller/train.py --corpus FOLDER --out FOLDER [--hours H]

CORPUS is a folder of plain-text books, stories separated by two blank lines (the model card names
the books and where to get them). The script trains a byte-level BPE, then the model, on the CPU,
and writes what `transformers` loads: config.json, model.safetensors (fp16) and tokenizer.json. It
saves a checkpoint at every evaluation; a killed run leaves the last one whole.

Attention over 1,024 tokens costs a third of a step at this width, and most of what there is to
learn is nearby: so the first 70 % of the time goes into windows of 256 tokens, each placed at a
random offset so that every position embedding is trained, and the rest into whole contexts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

END_OF_TEXT = "<|endoftext|>"
CONTEXT = 1024


def read_stories(corpus: Path) -> list[tuple[str, str]]:
    """(book, text) of every story or chapter of every .txt below `corpus`; lines of a paragraph are joined."""
    stories = []
    for path in sorted(corpus.rglob("*.txt")):
        for story in re.split(r"\n\n\n+", path.read_text(encoding="utf-8")):
            paragraphs = [" ".join(p.split()) for p in re.split(r"\n\n", story)]
            text = "\n".join(p for p in paragraphs if p)
            if len(text) > 200:
                stories.append((path.stem, text))
    if not stories:
        raise SystemExit(f"no stories below {corpus}: expected .txt files of public-domain books")
    return stories


def train_tokenizer(stories: list[str], vocab_size: int, out: Path) -> GPT2TokenizerFast:
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(stories, vocab_size=vocab_size, min_frequency=2, special_tokens=[END_OF_TEXT])
    state = json.loads(bpe.to_str())["model"]
    tokenizer = GPT2TokenizerFast(
        vocab=state["vocab"],
        merges=[tuple(m) for m in state["merges"]],
        model_max_length=CONTEXT,
    )
    tokenizer.save_pretrained(out)
    return tokenizer


def encode(tokenizer: GPT2TokenizerFast, stories: list[str]) -> np.ndarray:
    """All stories as one stream of token ids, each closed by <|endoftext|>."""
    end = tokenizer.eos_token_id
    ids = [np.array([*tokenizer(s, verbose=False)["input_ids"], end], dtype=np.int64) for s in stories]
    return np.concatenate(ids)


def batch(stream: np.ndarray, rng: np.random.Generator, tokens: int, window: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random windows, (tokens / window, window + 1) int64, and their positions in the context."""
    count = tokens // window
    starts = rng.integers(0, len(stream) - window - 1, count)
    offsets = rng.integers(0, CONTEXT - window + 1, (count, 1))
    windows = np.stack([stream[s : s + window + 1] for s in starts])
    return torch.from_numpy(windows), torch.from_numpy(offsets + np.arange(window))


def loss_of(model: torch.nn.Module, windows: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
    logits = model(input_ids=windows[:, :-1], position_ids=positions, use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


@torch.no_grad()
def evaluate(model: torch.nn.Module, stream: np.ndarray) -> float:
    """Mean cross-entropy (nats a token) over the whole held-out stream."""
    model.eval()
    losses = []
    for start in range(0, len(stream) - CONTEXT - 1, CONTEXT):
        losses.append(loss_of(model, torch.from_numpy(stream[None, start : start + CONTEXT + 1])).item())
    model.train()
    return float(np.mean(losses))


class Muon(torch.optim.Optimizer):
    """Momentum whose every step is made orthogonal (Jordan et al., 2024), for the layers' matrices.

    `torch.optim.Muon` does the same in bfloat16, which costs more than the whole step on a CPU
    without bfloat16 arithmetic; this one stays in float32. Weights are (in, out), as GPT-2 has them.
    """

    def __init__(self, parameters: list[torch.nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                momentum = self.state[parameter].setdefault("momentum", torch.zeros_like(gradient))
                momentum.lerp_(gradient, 0.05)
                update = gradient.lerp(momentum, 0.95)
                width = min(update.shape)  # the fused query-key-value matrix is three matrices
                parts = update.split(width, dim=1) if update.shape[1] == 3 * width else (update,)
                update = torch.cat([orthogonal(part) for part in parts], dim=1)
                scale = max(1.0, parameter.shape[1] / parameter.shape[0] / len(parts)) ** 0.5
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.add_(update, alpha=-group["lr"] * scale)


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """The nearest matrix with singular values near 1, by five Newton-Schulz steps (the paper's quintic)."""
    x = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x if matrix.shape[0] <= matrix.shape[1] else x.T


def learning_rate(progress: float, peak: float) -> float:
    """Linear warm-up over the first 1 %, flat to 40 %, then a straight line down to 2 % of the peak."""
    return peak * min(progress / 0.01, 1.0, 0.02 + 0.98 * (1 - progress) / 0.6)


def save(model: GPT2LMHeadModel, out: Path, log: list[dict[str, float]]) -> None:
    """fp16 weights and the loss curve, each moved into place whole."""
    staging = out / ".staging"
    half = GPT2LMHeadModel(model.config)
    half.load_state_dict(model.state_dict())
    half.half().save_pretrained(staging)
    (staging / "loss.json").write_text(json.dumps(log, indent=1))
    for path in staging.iterdir():
        path.replace(out / path.name)
    staging.rmdir()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=1.6)
    parser.add_argument("--vocab-size", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--peak-lr", type=float, default=2e-3, help="of embeddings, norms and biases (AdamW)")
    parser.add_argument("--matrix-lr", type=float, default=0.02, help="of the layers' matrices (Muon)")
    parser.add_argument("--only", nargs="+", metavar="BOOK", help="train on books whose file names begin so")
    parser.add_argument("--init", type=Path, help="start from the weights of an earlier run in this folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)

    stories = read_stories(args.corpus)
    rng.shuffle(stories)
    held_out = max(1, len(stories) // 50)
    unseen, seen = stories[:held_out], stories[held_out:]
    if args.init:
        tokenizer = GPT2TokenizerFast.from_pretrained(args.init)
        tokenizer.save_pretrained(args.out)
    else:
        tokenizer = train_tokenizer([text for _, text in seen], args.vocab_size, args.out)
    if args.only:
        unseen, seen = ([s for s in part if s[0].startswith(tuple(args.only))] for part in (unseen, seen))
    train, test = (encode(tokenizer, [text for _, text in part]) for part in (seen, unseen))
    test = test[: 40 * CONTEXT]
    print(f"{len(seen)} stories, {len(train):,} training tokens, {len(test):,} held out", flush=True)

    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=CONTEXT, n_embd=args.width, n_layer=args.layers,
        n_head=args.width // 32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        activation_function="gelu_pytorch_tanh",  # GPT-2's gelu_new as one operator
    )  # fmt: skip
    model = GPT2LMHeadModel.from_pretrained(args.init, config=config) if args.init else GPT2LMHeadModel(config)
    model.float()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and ".h." in name]
    others = [p for name, p in model.named_parameters() if not (p.ndim == 2 and ".h." in name)]
    optimizers = [
        (Muon(matrices, lr=args.matrix_lr, weight_decay=0.01), args.matrix_lr),
        (torch.optim.AdamW(others, lr=args.peak_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True), args.peak_lr),
    ]

    log: list[dict[str, float]] = []
    started, tokens, step, next_report = time.monotonic(), 0, 0, 0.0
    while (progress := (time.monotonic() - started) / (args.hours * 3600)) < 1:
        for optimizer, peak in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(progress, peak)
        windows, positions = batch(train, rng, args.batch_tokens, 256 if progress < 0.7 else CONTEXT)
        loss = loss_of(model, windows, positions)
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
        tokens += windows.numel()
        step += 1
        if progress >= next_report:
            next_report += 0.04
            log.append({"tokens": tokens, "train": round(loss.item(), 3), "held_out": round(evaluate(model, test), 3)})
            save(model, args.out, log)
            print(f"step {step} {time.monotonic() - started:.0f} s {log[-1]}", flush=True)
    log.append({"tokens": tokens, "train": round(loss.item(), 3), "held_out": round(evaluate(model, test), 3)})
    save(model, args.out, log)
    print(f"done: {log[-1]}", flush=True)


if __name__ == "__main__":
    main()
