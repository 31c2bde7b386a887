"""The offline model: a small deterministic stand-in that speaks the OpenAI protocol.

For demonstrations, tests and benchmarks. It reads only what a real model would be sent, knows a few fixed rules
(prompts/offline/), and says so where they end.
"""
