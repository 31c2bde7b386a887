"""Clients that keep the conversation themselves: OpenAI's protocol, and a plain stream of text."""
