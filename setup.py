"""The packages of the distribution: each folder here is imported as `turnloom.FOLDER`."""

from setuptools import find_namespace_packages, setup

FOLDERS = ["client", "models", "tools", "planner", "workers", "web", "migrations", "prompts"]
PAGE = ["web.console.source*", "web.console.node_modules*"]
"""What the console's page is made from; `web/console/dist` is the page."""

setup(
    packages=[
        f"turnloom.{name}"
        for name in find_namespace_packages(include=[*FOLDERS, *(f"{folder}.*" for folder in FOLDERS)], exclude=PAGE)
    ],
    package_dir={f"turnloom.{folder}": folder for folder in FOLDERS},
)
