"""The offline model: a small deterministic stand-in that speaks the OpenAI protocol.

It serves demonstrations, tests and benchmarks. It reads only what a real model would be sent. It knows a few fixed
rules (prompts/offline/), and says so when a message is beyond them.
"""
