"""Writes ONNX files: as much of the format as the tests' models need.

Field numbers are those of onnx.proto.
"""

import struct

import pb

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16 = 1, 2, 3, 6, 7, 9, 10
UINT4, INT4 = 21, 22


def _varint(value):
    value &= (1 << 64) - 1
    data = b""
    while value > 0x7f:
        data += bytes([value & 0x7f | 0x80])
        value >>= 7
    return data + bytes([value])


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def tensor(name, type_, shape, values):
    data = struct.pack(f"<{len(values)}{pb.TYPES[type_][2]}", *values)
    if type_ in (UINT4, INT4):
        # Two in a byte, the first in the lower bits.
        data += bytes(len(data) % 2)
        data = bytes(a & 15 | (b & 15) << 4 for a, b in zip(data[::2], data[1::2]))
    return (b"".join(_field(1, size) for size in shape) + _field(2, type_)
            + _field(8, name) + _field(9, data))


def value_info(name, type_, shape):
    dims = b"".join(_field(1, _field(2 if isinstance(size, str) else 1, size))
                    for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, type_)
                                              + _field(2, dims)))


class Graph:
    """A graph under construction. Values are their names."""

    def __init__(self):
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.count = 0

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def node(self, operator, *inputs, outputs=1, domain="", **attributes):
        names = [self.new() for _ in range(outputs)]
        message = b"".join(_field(1, name or "") for name in inputs)
        message += b"".join(_field(2, name) for name in names)
        message += _field(3, f"{operator}_{self.count}") + _field(4, operator)
        message += _field(7, domain)
        for name, value in attributes.items():
            if isinstance(value, int):
                body = _field(3, value) + _field(20, 2)
            elif isinstance(value, float):
                body = _field(2, value) + _field(20, 1)
            elif isinstance(value, str):
                body = _field(4, value) + _field(20, 3)
            elif isinstance(value, bytes):
                body = _field(5, value) + _field(20, 4)
            else:
                body = b"".join(_field(8, n) for n in value) + _field(20, 7)
            message += _field(5, _field(1, name) + body)
        self.nodes.append(message)
        return names[0] if outputs == 1 else names

    def weight(self, name, shape, values, type_=FLOAT):
        self.initializers.append(tensor(name, type_, shape, values))
        return name

    def floats(self, *values, shape=None):
        name = self.new()
        shape = [len(values)] if shape is None else shape
        self.initializers.append(tensor(name, FLOAT, shape, values))
        return name

    def ints(self, *values, shape=None):
        name = self.new()
        shape = [len(values)] if shape is None else shape
        self.initializers.append(tensor(name, INT64, shape, values))
        return name

    def input(self, name, type_, shape):
        self.inputs.append(value_info(name, type_, shape))
        return name

    def output(self, value, name, type_, shape):
        message = _field(1, value) + _field(2, name) + _field(4, "Identity")
        self.nodes.append(message)
        self.outputs.append(value_info(name, type_, shape))

    def save(self, path, opset):
        """A file of IR version 10, which has numbers of 4 bits."""
        graph = b"".join(_field(1, node) for node in self.nodes)
        graph += _field(2, "graph")
        graph += b"".join(_field(5, x) for x in self.initializers)
        graph += b"".join(_field(11, x) for x in self.inputs)
        graph += b"".join(_field(12, x) for x in self.outputs)
        with open(path, "wb") as file:
            file.write(_field(1, 10) + _field(8, _field(2, opset))
                       + _field(8, _field(1, "com.microsoft") + _field(2, 1))
                       + _field(7, graph))
