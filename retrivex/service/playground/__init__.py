"""The playground: what a browser shows of an answer, and the page that shows it."""
