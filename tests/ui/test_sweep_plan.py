"""What the form of a sweep makes of what somebody types."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from minibatch.ui.machine import Machine
from minibatch.ui.sweep_plan import Wanted, plan_of

WANTED = Wanted(
    Machine("llama-3.1-8b", "modelled", "H100", 1), 40, "fixed:64", "fixed:16", 0, ("static", "chunked"), "rate",
    "4 32 256", 1.0, 0.0, {"max_num_seqs": 8, "max_num_batched_tokens": 512},
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"loads": "1 two 4"}, "'two' is not a load: type requests/s, such as 1 2 4 8"),
        ({"loads": " "}, "There is no load: type requests/s"),
        ({"loads": "1 -2"}, "-2"),
        ({"loads": "nan"}, "nan"),
        ({"loads": "1 2.5", "kind": "users"}, "2.5 is not a number of users: type whole numbers of users"),
        ({"policies": ()}, "No policy is chosen"),
        ({"prompt_lengths": "long"}, "long"),
        ({"varied": "max_num_seqs", "values": "4 many"}, "max_num_seqs is 'many': use a number"),
        ({"varied": "max_num_seqs"}, "max_num_seqs is to vary, but has no values"),
        ({"loads": " ".join(map(str, range(1, 120)))}, "238 points are more than 200"),
        ({"knobs": {"num_kv_blocks": 10**6}}, "use num_kv_blocks of at most"),
        ({"machine": Machine("llama-3.1-8b", "modelled", None, 1)}, "choose an accelerator"),
    ],
)
def test_what_can_not_be_run_is_said_in_a_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        plan_of(replace(WANTED, **change))


def test_loads_and_values_are_taken_once_and_in_order() -> None:
    points = plan_of(replace(WANTED, loads="8, 2;4 2", varied="max_num_seqs", values="8 4 8")).points
    assert [point.load.value for point in points[::4]] == [2, 4, 8]
    assert [point.policy for point in points[:4:2]] == ["static", "chunked"]
    assert [point.config.max_num_seqs for point in points[:2]] == [8, 4]
    assert points[0].config.max_model_len == 80
