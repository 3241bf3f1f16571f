"""A test of one operator of com.microsoft: a model, inputs, and outputs by a formula.

Formulas are written from the operator reference of ONNX Runtime
(docs/ContribOperators.md) and computed in float64.
"""

import math
import random
import struct

import graph
import pb

COMMON_TOLERANCE = 1e-5


def store(type_, values):
    """The numbers that elements of a type hold."""
    code = pb.TYPES[type_][2]
    return list(struct.unpack(f"<{len(values)}{code}",
                              struct.pack(f"<{len(values)}{code}", *values)))


class Tensor:
    """Elements in row-major order. An element None is not specified."""

    def __init__(self, type_, shape, values, is_weight=False, symbols=None):
        self.type, self.shape = type_, list(shape)
        self.values, self.is_weight = list(values), is_weight
        # The shape that the model says.
        self.symbols = symbols or self.shape
        assert len(self.values) == math.prod(self.shape), (shape, len(self.values))

    def at(self, *place):
        index = 0
        for i, size in zip(place, self.shape, strict=True):
            # A size of 1 is repeated.
            index = index * size + (0 if size == 1 else i)
        return self.values[index]


def weight(tensor):
    tensor.is_weight = True
    return tensor


class Numbers:
    """Random numbers of a case."""

    def __init__(self, seed, name):
        self.random = random.Random(f"{seed} {name}")

    def floats(self, *shape, type_=graph.FLOAT, low=-1.0, high=1.0):
        values = [self.random.uniform(low, high) for _ in range(math.prod(shape))]
        return Tensor(type_, shape, store(type_, values))

    def integers(self, type_, low, high, *shape):
        """Of the range [low, high)."""
        return Tensor(type_, shape, [self.random.randrange(low, high)
                                     for _ in range(math.prod(shape))])


class Case:
    """`inputs`: (name, tensor or None) in order. `outputs`: tensors, the values of
    which the formula says; None: not asked for. `is_recorded`: whether ONNX
    Runtime has a kernel for CPUs that computes it as exactly as `tolerance`, of
    the largest element, says."""

    def __init__(self, name, operator, inputs, outputs, attributes=None,
                 tolerance=COMMON_TOLERANCE, is_recorded=True):
        self.name, self.operator, self.inputs = name, operator, inputs
        self.outputs, self.attributes = outputs, attributes or {}
        self.tolerance, self.is_recorded = tolerance, is_recorded

    def build(self):
        g = graph.Graph()
        names = []
        for name, tensor in self.inputs:
            if tensor is None:
                name = ""
            elif tensor.is_weight:
                g.weight(name, tensor.shape, tensor.values, tensor.type)
            else:
                g.input(name, tensor.type, tensor.symbols)
            names.append(name)
        while not names[-1]:
            names.pop()
        results = g.node(self.operator, *names, outputs=len(self.outputs),
                         domain="com.microsoft", **self.attributes)
        results = [results] if len(self.outputs) == 1 else results
        for i, (value, tensor) in enumerate(zip(results, self.outputs)):
            if tensor is not None:
                g.output(value, f"output{i}", tensor.type, tensor.symbols)
        return g

    def given(self):
        return [(name, tensor) for name, tensor in self.inputs
                if tensor is not None and not tensor.is_weight]

    def wanted(self):
        return [(f"output{i}", tensor) for i, tensor in enumerate(self.outputs)
                if tensor is not None]


def places(*sizes):
    """All places of a shape, in row-major order."""
    if not sizes:
        yield ()
        return
    for i in range(sizes[0]):
        for rest in places(*sizes[1:]):
            yield (i,) + rest
