from __future__ import annotations

import pytest

from minibatch.model.weights import load_tokenizer
from minibatch.workload.requests_file import read_requests


@pytest.fixture(scope="module")
def codec():
    return load_tokenizer("bundled")


def write(tmp_path, *lines: str | bytes):
    path = tmp_path / "requests.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


def test_requests_are_numbered_in_order_of_arrival(tmp_path, codec):
    path = write(
        tmp_path,
        '{"prompt": "The old king", "max_tokens": 5, "arrival_s": 0.5}',
        "",
        '{"prompt_tokens": 200, "max_tokens": 7}',
    )
    second, first = read_requests(path, codec)
    assert (first.request_id, first.prompt, first.sampling.max_tokens) == (1, "The old king", 5)
    assert first.arrival_ns == 500_000_000
    assert (second.request_id, second.num_prompt_tokens, second.sampling.max_tokens, second.arrival_ns) == (
        0,
        200,
        7,
        0,
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ("{}", "line 2: give either prompt"),
        ('{"prompt": "a", "prompt_tokens": 3, "max_tokens": 2}', "line 2: give either prompt"),
        ('{"prompt": "a"}', "line 2: max_tokens is None"),
        ('{"prompt": "a", "max_tokens": 0}', "line 2: max_tokens is 0"),
        ('{"prompt": "a", "max_tokens": true}', "line 2: max_tokens is True"),
        ('{"prompt": "a", "max_tokens": 1.5}', "line 2: max_tokens is 1.5"),
        ('{"prompt": " ", "max_tokens": 2}', "line 2: prompt is ' '"),
        ('{"prompt": 3, "max_tokens": 2}', "line 2: prompt is 3"),
        ('{"prompt_tokens": -3, "max_tokens": 2}', "line 2: prompt_tokens is -3"),
        ('{"prompt": "a", "max_tokens": 2, "arrival_s": -1}', "line 2: arrival_s is -1"),
        ('{"prompt": "a", "max_tokens": 2, "arrival_s": NaN}', "line 2: arrival_s is nan"),
        ('{"prompt": "a", "max_tokens": 2, "arrival_s": 1e300}', "line 2: arrival_s is 1e[+]300"),
        ('{"prompt": "a", "max_tokens": 2, "arrival_s": 1' + "0" * 400 + "}", "line 2: arrival_s is 1000"),
        ('{"prompt": "\\ud800", "max_tokens": 2}', "line 2: prompt is not text at character 1"),
        ("[" * 100_000, "line 2: not JSON"),
        ('{"prompt": "a", "max_tokens": 2, "arrival": 1}', "line 2: unknown field 'arrival'"),
    ],
)
def test_a_bad_line_is_named_with_what_to_write(tmp_path, codec, line, says):
    path = write(tmp_path, '{"prompt": "fine", "max_tokens": 3}', line)
    with pytest.raises(ValueError, match=says):
        read_requests(path, codec)


def test_an_empty_file_and_a_foreign_encoding(tmp_path, codec):
    with pytest.raises(ValueError, match="holds no requests"):
        read_requests(write(tmp_path, "", " "), codec)
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_requests(write(tmp_path, b'{"prompt": "\xff\xfe"}'), codec)


def test_line_separators_inside_a_prompt_are_text(tmp_path, codec):
    path = write(tmp_path, '{"prompt": "one\u2028two\x85three", "max_tokens": 2}')
    (request,) = read_requests(path, codec)
    assert request.prompt == "one\u2028two\x85three"
