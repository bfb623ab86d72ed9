"""The queue of runs that all pages of this server share."""

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from minibatch.ui.shared.jobs import JobQueue, Ticket, Work

POLL_S = 0.4
"""Between two looks at a run in progress, in seconds."""


@st.cache_resource(show_spinner=False)
def engine_queue() -> JobQueue:
    """The one queue, made at first use."""
    return JobQueue()


def submit(work: Work) -> Ticket:
    """Queue a run for the tab whose page calls this: it stops when that is closed."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return engine_queue().submit(work)
    server, session = runtime.get_instance(), context.session_id
    return engine_queue().submit(work, lambda: server.is_active_session(session))
