"""Language models: the port, its adapter to the OpenAI protocol, and the offline stand-in."""
