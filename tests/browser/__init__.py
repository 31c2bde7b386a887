"""A browser sees the console. The folder is a package, so that Chromium ends with its last test."""
