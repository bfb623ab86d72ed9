"""The player within Streamlit."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from minibatch.ui.player.bundle import component_script, styles


def mounted() -> None:
    import streamlit as st

    from minibatch.ui.player.component import show_player

    st.text(str(show_player(b"one", "first")))
    st.text(str(show_player(b"two", "second")))


def test_the_component_mounts_the_script_and_passes_bytes_on() -> None:
    app = AppTest.from_function(mounted, default_timeout=30).run()
    assert not app.exception
    first, second = (element.proto for element in app.get("bidi_component"))
    assert (first.component_name, first.bytes, second.bytes) == ("minibatch.player", b"one", b"two")
    assert first.id != second.id
    assert first.js_content == component_script()
    assert first.css_content == styles()
    assert first.isolate_styles, "the page's own styles would reach into the player"
    # A single line would be taken for the path of a file.
    assert all("\n" in text.strip("\n") or text.endswith("\n") for text in (first.html_content, first.css_content))
    assert [text.value for text in app.text] == ["None", "None"]
