"""The application as beat sees it: the schedule, no task and no results, so that it starts at once and stays small."""

from workers.app import app

app.conf.include = []
app.backend_cls = "disabled"
