"""A simulated provider, which `turnloom simulate` plays against a deployment: people who write, and a server."""
