"""Names of dtypes and what an element takes."""

from __future__ import annotations

BYTES_PER_ELEMENT = {
    "float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1, "float4": 0.5, "int4": 0.5,
}  # fmt: skip
"""Scales of blocks of elements are left out."""

_ALIASES = {
    "fp8": "float8", "float8_e4m3fn": "float8", "float8_e5m2": "float8", "fp4": "float4", "nvfp4": "float4",
    "mxfp4": "float4",
}  # fmt: skip


def canonical(name: str) -> str:
    """The dtype's name in `BYTES_PER_ELEMENT`, for its other names too; what is unknown stays as it is."""
    bare = name.removeprefix("torch.")
    return _ALIASES.get(bare, bare)


def bytes_of(name: str) -> float:
    """Bytes of one element; ValueError names the dtypes that there are."""
    dtype = canonical(name)
    if dtype not in BYTES_PER_ELEMENT:
        raise ValueError(f"there is no dtype {name!r} here: use one of {', '.join(BYTES_PER_ELEMENT)}")
    return BYTES_PER_ELEMENT[dtype]
