"""A hand-written MCP server over standard input and output. It starts quickly, and misbehaves as its tools say.

In: the path of a file with its tools, read for every list, and of a file that gets a line per call.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main(tools: Path, calls: Path) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            version = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "bad", "version": "1"}}
            answer(message, {**version, "capabilities": {"tools": {}}})
        elif method == "tools/list":
            answer(message, {"tools": json.loads(tools.read_text())})
        elif method == "tools/call":
            with calls.open("a") as log:
                log.write(json.dumps([params["name"], params.get("arguments"), params.get("_meta")]) + "\n")
            call(message, params["name"], params.get("arguments") or {})
        elif "id" in message and method is not None:
            send({"id": message["id"], "error": {"code": -32601, "message": f"there is no {method}"}})


def call(message: dict[str, Any], name: str, args: dict[str, Any]) -> None:
    if name in ALWAYS:
        send({"id": message["id"], **ALWAYS[name]})
        return
    match name:
        case "die":
            os._exit(3)
        case "hang":
            time.sleep(60)
        case "huge":
            answer(message, {"content": [text("x" * args["size"])]})
        case "junk":
            sys.stdout.write("this is no JSON\n")
            answer(message, {"content": [text("after junk")]})
        case "ask":
            answer(message, {"content": [text(json.dumps(refusals()))]})
        case "structured":
            answer(message, {"content": [], "structuredContent": args["gives"]})
        case _:
            answer(message, {"content": [text(json.dumps(args))]})


def refusals() -> list[bool]:
    """Ask for what no server may have. Return whether each request was refused."""
    send({"id": 900, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
    send({"id": 901, "method": "roots/list"})
    return ["error" in json.loads(sys.stdin.readline()) for _ in range(2)]


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


ALWAYS: dict[str, dict[str, Any]] = {
    "fail": {"result": {"content": [text("the disk is full")], "isError": True}},
    "refuse": {"error": {"code": -32602, "message": "no such city"}},
    "break": {"error": {"code": -32603, "message": "it broke"}},
    "malformed": {"result": {"content": "no list"}},
    "pid": {"result": {"content": [{"type": "text", "text": str(os.getpid())}]}},
}


def answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    send({"id": message["id"], "result": result})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
