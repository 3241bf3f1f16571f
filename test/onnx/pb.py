"""ONNX files and tensors for the test runner: as much of them as it needs.

Independent of the compiler's reader. Numbers of bfloat16 are kept as their bits,
like the .npy files of weft-run have them.
"""

import ast
import math
import struct

# TensorProto.DataType: name, bytes, struct code, .npy type.
TYPES = {
    1: ("FLOAT", 4, "f", "<f4"), 2: ("UINT8", 1, "B", "|u1"),
    3: ("INT8", 1, "b", "|i1"), 5: ("INT16", 2, "h", "<i2"),
    6: ("INT32", 4, "i", "<i4"), 7: ("INT64", 8, "q", "<i8"),
    9: ("BOOL", 1, "?", "|b1"), 10: ("FLOAT16", 2, "e", "<f2"),
    11: ("DOUBLE", 8, "d", "<f8"), 16: ("BFLOAT16", 2, "H", "<u2"),
    4: ("UINT16", 2, "H", "<u2"), 12: ("UINT32", 4, "I", "<u4"),
    13: ("UINT64", 8, "Q", "<u8"),
    # A byte for each element, also where ONNX packs several into one.
    17: ("FLOAT8E4M3FN", 1, "B", "|u1"), 18: ("FLOAT8E4M3FNUZ", 1, "B", "|u1"),
    19: ("FLOAT8E5M2", 1, "B", "|u1"), 20: ("FLOAT8E5M2FNUZ", 1, "B", "|u1"),
    21: ("UINT4", 1, "B", "|u1"), 22: ("INT4", 1, "b", "|i1"),
    23: ("FLOAT4E2M1", 1, "B", "|u1"), 24: ("FLOAT8E8M0", 1, "B", "|u1"),
    25: ("UINT2", 1, "B", "|u1"), 26: ("INT2", 1, "b", "|i1"),
}
PACKED_BITS = {21: 4, 22: 4, 23: 4, 25: 2, 26: 2}
# The codes of NaN, without the sign where there is one.
NANS = {17: {0x7f, 0xff}, 18: {0x80}, 20: {0x80}, 24: {0xff},
        19: {code | sign for code in (0x7d, 0x7e, 0x7f) for sign in (0, 0x80)}}


class Unreadable(Exception):
    """A tensor of a type that .npy files of weft-run do not have."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of the fields of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def unpack(values, code):
    """Numbers of a repeated field, packed or not."""
    result = []
    for value in values:
        if code != "varint":
            result += [n for n, in struct.iter_unpack("<" + code, value)]
        elif isinstance(value, int):
            result.append(signed(value))
        else:
            at = 0
            while at < len(value):
                number, at = varint(value, at)
                result.append(signed(number))
    return result


class Tensor:
    """Type, shape and bytes in row-major order, little-endian."""

    def __init__(self, type_, shape, data):
        self.type, self.shape, self.data = type_, shape, data

    def numbers(self):
        code = TYPES[self.type][2]
        values = [n for n, in struct.iter_unpack("<" + code, self.data)]
        if self.type == 16:
            values = [struct.unpack("<f", struct.pack("<I", n << 16))[0]
                      for n in values]
        if self.type in NANS:
            values = [math.nan if n in NANS[self.type] else n for n in values]
        return values

    def save(self, path):
        shape = "(" + "".join(f"{size}, " for size in self.shape) + ")"
        header = (f"{{'descr': '{TYPES[self.type][3]}', "
                  f"'fortran_order': False, 'shape': {shape}, }}")
        header += " " * (-(len(header) + 11) % 64) + "\n"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
                       + header.encode() + self.data)


def load_npy(path, type_):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack("<H", data[8:10])
    header = ast.literal_eval(data[10:10 + size].decode())
    if header["descr"] != TYPES[type_][3]:
        raise ValueError(f"elements of {header['descr']}, expected "
                         f"{TYPES[type_][3]}")
    return Tensor(type_, list(header["shape"]), data[10 + size:])


def load_tensor(path):
    with open(path, "rb") as file:
        message = file.read()
    lists, single = {}, {}
    for number, value in fields(message):
        lists.setdefault(number, []).append(value)
        single[number] = value
    type_ = single.get(2, 0)
    if type_ not in TYPES:
        raise Unreadable(f"tensors of type {type_}")
    shape = unpack(lists.get(1, []), "varint")
    if 9 in single:
        data = bytes(single[9])
        return Tensor(type_, shape, unpack_bits(type_, shape, data))
    number, code = {1: (4, "f"), 11: (10, "d"), 7: (7, "varint"),
                    12: (11, "varint"), 13: (11, "varint")}.get(
        type_, (5, "varint"))
    values = unpack(lists.get(number, []), code)
    if type_ in (12, 13):
        values = [value & ((1 << 64) - 1) for value in values]
    if type_ in PACKED_BITS:
        data = bytes(value & 0xff for value in values)
        return Tensor(type_, shape, unpack_bits(type_, shape, data))
    bits = {10: "H"}.get(type_, TYPES[type_][2])
    return Tensor(type_, shape, struct.pack(f"<{len(values)}{bits}", *values))


def unpack_bits(type_, shape, data):
    """The bytes of elements that are bytes each."""
    bits = PACKED_BITS.get(type_)
    if bits is None:
        return data
    codes = [data[i * bits // 8] >> (i * bits % 8) & ((1 << bits) - 1)
             for i in range(math.prod(shape))]
    if type_ in (22, 26):
        codes = [code - ((code >> (bits - 1)) << bits) for code in codes]
    return bytes(code & 0xff for code in codes)


def is_tensor(type_message):
    return any(number == 1 for number, _ in fields(type_message))


def read_graph(path):
    """(operators, inputs, outputs): names; None for an input or output that is no
    tensor."""
    with open(path, "rb") as file:
        model = file.read()
    graph = b"".join(value for number, value in fields(model) if number == 7)
    operators, initializers, values = set(), set(), {11: [], 12: []}
    for number, value in fields(graph):
        parts = dict(fields(value)) if number in (1, 5, 11, 12) else {}
        if number == 1:
            domain = parts.get(7, b"").decode()
            operators.add((domain + "." if domain else "")
                          + parts.get(4, b"").decode())
        elif number == 5:
            initializers.add(parts.get(8, b"").decode())
        elif number in values:
            name = parts.get(1, b"").decode()
            values[number].append(name if is_tensor(parts.get(2, b"")) else None)
    inputs = [name for name in values[11] if name not in initializers]
    return sorted(operators), inputs, values[12]


def read_opsets(path):
    """Versions of the operator sets of a model, by domain."""
    with open(path, "rb") as file:
        model = file.read()
    opsets = (dict(fields(value)) for number, value in fields(model)
              if number == 8)
    return {opset.get(1, b"").decode(): opset.get(2, 0) for opset in opsets}
