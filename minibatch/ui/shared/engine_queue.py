"""The queue of runs that all pages of this server share."""

import streamlit as st

from minibatch.ui.shared.jobs import JobQueue

POLL_S = 0.4
"""Between two looks at a run in progress, in seconds."""


@st.cache_resource(show_spinner=False)
def engine_queue() -> JobQueue:
    """The one queue, made at first use."""
    return JobQueue()
