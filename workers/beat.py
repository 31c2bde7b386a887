"""The application as beat sees it: the schedule, and none of the tasks, so that it starts at once and stays small."""

from workers.app import app

app.conf.include = []
