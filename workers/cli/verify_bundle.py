"""Verify a proof bundle of Turnloom's audit log. It needs Python 3.9 and nothing else, and none of our code.

    python3 -I -S verify.py bundle.json [PUBLIC_KEY]

Get the public key from whoever runs the system, not from the bundle. It exits with 0 if the records are as signed.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # of Ed25519, see RFC 8032
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int, int, int]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def add(one: Point, other: Point) -> Point:
    a, b = (one[1] - one[0]) * (other[1] - other[0]), (one[1] + one[0]) * (other[1] + other[0])
    c, d = 2 * one[3] * other[3] * D, 2 * one[2] * other[2]
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P


def times(number: int, one: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    for bit in f"{number:b}":
        total = add(total, total)
        total = add(total, one) if bit == "1" else total
    return total


def read_point(data: bytes) -> Point:
    y = int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square or len(data) != 32 or y >= P:
        raise ValueError("a key or signature is none of Ed25519")
    x = x if x % 2 == data[31] >> 7 else P - x
    return x, y, 1, x * y % P


def is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    number = int.from_bytes(signature[32:], "little")
    hashed = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    base = read_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    one, other = times(number, base), add(read_point(signature[:32]), times(hashed, read_point(key)))
    return number < ORDER and all((one[at] * other[2] - other[at] * one[2]) % P == 0 for at in (0, 1))


def wrong_records(bundle: dict[str, Any]) -> Iterator[str]:
    before, bare, expected = "", list[int](), 1
    for record in bundle["records"]:
        seq, content, digest = record["seq"], record["content"], record["digest"]
        if seq != expected:
            yield f"record {expected} is missing" if seq > expected else f"record {seq} is out of order"
        if content is not None and sha256(content.encode()) != digest:
            yield f"the content of record {seq} was changed"
        of = [bundle["tenant_id"], bundle["conversation_id"], str(seq), record["turn_id"], record["kind"], record["at"]]
        if sha256("|".join([*filter(None, of), digest, before]).encode()) != record["hash"]:
            yield f"record {seq} does not follow from the one before it"
        if record["kind"] == "conversation.erased" and content is not None:
            bare = [each for each in bare if each > json.loads(content)["through"]]
        bare += [seq] if content is None else []
        before, expected = record["hash"], seq + 1
    yield from (f"the content of record {seq} is gone, and no record says that it was erased" for seq in bare)
    yield from (f"text {name} was changed" for name, said in bundle["texts"].items() if sha256(said.encode()) != name)


def wrong_head(bundle: dict[str, Any], key: str) -> Iterator[str]:
    head, last = bundle["head"], bundle["records"][-1]
    if sha256(f"{bundle['conversation_id']} {last['seq']} {last['hash']}".encode()) not in head["entries"]:
        yield f"the signed head does not name record {last['seq']} as the last: the end was cut off, or rewritten"
    entries = sha256(bytes.fromhex("".join(head["entries"])))
    message = "|".join([bundle["tenant_id"], str(head["number"]), head["at"], entries, head["previous"]])
    if not is_signed(bytes.fromhex(key), message.encode(), bytes.fromhex(head["signature"])):
        yield f"the head is not signed with the key {key}"


def main(path: str, *keys: str) -> int:
    try:
        bundle = json.loads(Path(path).read_text("utf-8"))
        key = keys[0] if keys else bundle["public_key"]
        faults = [*wrong_records(bundle), *wrong_head(bundle, key)]
        signed = f"signed on {bundle['head']['at']} with the key {key}"
        told = faults or [f"the {len(bundle['records'])} records are as they were written, {signed}"]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        faults = told = [f"this is no proof bundle: {error!r}"]
    sys.stdout.write("\n".join(told) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
