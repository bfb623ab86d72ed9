"""What Streamlit runs for each visitor: the pages and the links to them. `app.py` serves it."""

if __name__ == "__main__":  # and not in the processes of a sweep, which import this file as they start
    import streamlit as st

    from minibatch.ui.compare import page as compare
    from minibatch.ui.lessons import page as lessons
    from minibatch.ui.load import page as load
    from minibatch.ui.published import page as published
    from minibatch.ui.truth import page as truth

    st.set_page_config(page_title="Minibatch", layout="wide", initial_sidebar_state=330)
    pages = [
        st.Page(compare.page, title="Compare", default=True),
        st.Page(lessons.page, title="Lessons", url_path="lessons"),
        st.Page(lessons.interview_page, title="Interview", url_path="interview"),
        st.Page(load.page, title="Load", url_path="load"),
        st.Page(published.page, title="Published results", url_path="published"),
        st.Page(truth.page, title="How true is this?", url_path="truth"),
    ]
    st.navigation(pages, position="top").run()
