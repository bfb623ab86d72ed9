"""The player: recordings animated in the browser, in the app and in files that stand alone."""
