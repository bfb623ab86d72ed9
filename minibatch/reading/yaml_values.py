"""YAML from outside, as far as it is needed: plain values, and aliases only as far as what they repeat is small."""

from __future__ import annotations

from typing import Any, NoReturn

import yaml

from minibatch.reading.values import DEEPEST, check_values

MOST_NODES = 20_000
"""Most values of a text, each alias counted as all that it repeats."""
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("bool", "int", "float", "null")}
_RESOLVERS = {
    first: [pair for pair in pairs if pair[0] in _PLAIN]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
"""By the first character: what unquoted text is, if it is not text."""


def parse_yaml(text: str) -> Any:
    """The value that a text in YAML holds: lists and dicts of text, numbers, true, false and null; dates are text.

    Raises:
        yaml.MarkedYAMLError: it is not YAML, has tags, or is beyond the limits; `problem` and `problem_mark` say
            what is wrong and where.
        yaml.YAMLError: it holds a character that no YAML does.
    """
    node = compose_yaml(text)
    return None if node is None else value_of(node)


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a text; raises as `parse_yaml`."""
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def value_of(node: yaml.Node) -> Any:
    """The value of a node of `compose_yaml`; raises as `parse_yaml`."""
    try:
        value = _Loader("").construct_object(node, deep=True)
        check_values(value, deepest=2 * DEEPEST)  # what aliases repeat counts as well
    except ValueError as error:  # such as 0b_, which looks like a number
        _refuse(f"a value can't be read: {error}", node.start_mark)
    return value


class _Loader(yaml.SafeLoader):
    """Composes nodes under limits of depth and number."""

    yaml_implicit_resolvers = _RESOLVERS

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0
        self._sizes: dict[str, int] = {}
        """Of what an anchor names, when that is complete."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            name = str(event.anchor)
            if name in self.anchors and name not in self._sizes:
                _refuse(f"*{name} repeats what it stands in", event.start_mark)
            self._count(self._sizes.get(name, 0), event.start_mark)
            return super().compose_node(parent, index)
        if getattr(event, "tag", None) is not None:
            _refuse(f"{event.tag} is a tag: write the value alone", event.start_mark)
        before = self._nodes
        self._count(1, event.start_mark)
        self._depth += 1
        if self._depth > DEEPEST:
            _refuse(f"lists or mappings are nested deeper than {DEEPEST}", event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if event.anchor is not None:
            self._sizes[event.anchor] = self._nodes - before
        return node

    def _count(self, more: int, mark: Any) -> None:
        self._nodes += more
        if self._nodes > MOST_NODES:
            _refuse(f"more than {MOST_NODES:,} values, what is repeated counted each time", mark)


def _refuse(problem: str, mark: Any) -> NoReturn:
    raise yaml.MarkedYAMLError(None, None, problem, mark)
