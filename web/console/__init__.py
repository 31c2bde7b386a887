"""The console: a page where people chat with agents and see turns think."""
