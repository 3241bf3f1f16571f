"""A small decoder with random weights: computed in float64, and written as exporters
write it."""

import math
import random

import graph
import pb
from packed import pack

HIDDEN, HEADS, KEY_HEADS, SIZE, INNER, IDS, LAYERS = 32, 4, 2, 16, 24, 32, 2
EPSILON = 1e-5
LOW = -3.4028234663852886e38
FREQUENCIES = [1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005]
POSITIONS = 40


BLOCK = 16


def round_floats(values):
    """What a 32-bit file holds."""
    code = f"<{len(values)}f"
    return list(pb.struct.unpack(code, pb.struct.pack(code, *values)))


class Weights:
    def __init__(self, seed, is_quantized=False):
        numbers = random.Random(seed)

        def make(*shape):
            return shape, round_floats([numbers.gauss(0, 0.3)
                                        for _ in range(math.prod(shape))])

        self.tensors = {"table": make(IDS, HIDDEN), "norm": make(HIDDEN),
                        "head": make(HIDDEN, IDS)}
        for i in range(LAYERS):
            for name, *shape in (
                    ("q", HIDDEN, HEADS * SIZE), ("k", HIDDEN, KEY_HEADS * SIZE),
                    ("v", HIDDEN, KEY_HEADS * SIZE), ("o", HEADS * SIZE, HIDDEN),
                    ("gate", HIDDEN, INNER), ("up", HIDDEN, INNER),
                    ("down", INNER, HIDDEN), ("norm1", HIDDEN), ("norm2", HIDDEN)):
                self.tensors[f"{name}.{i}"] = make(*shape)

        # How a weight is stored: None, or its packed parts.
        self.packed = {}
        if is_quantized:
            for name, (shape, _) in list(self.tensors.items()):
                if len(shape) == 2:
                    self.quantize(name, numbers)

    def quantize(self, name, numbers):
        """Replaces a matrix by one of 4 bits in blocks, each row of which is what
        an output, or a row of the table, is made of."""
        shape, _ = self.tensors[name]
        is_table = name == "table"
        rows, columns = shape if is_table else shape[::-1]
        blocks = -(-columns // BLOCK)
        codes = [[numbers.randrange(16) for _ in range(blocks * BLOCK)]
                 for _ in range(rows)]
        points = [[numbers.randrange(5, 11) for _ in range(blocks)]
                  for _ in range(rows)]
        scales = round_floats([numbers.uniform(0.03, 0.09)
                               for _ in range(rows * blocks)])
        def at(row, column):
            block = column // BLOCK
            return ((codes[row][column] - points[row][block])
                    * scales[row * blocks + block])
        data = [at(i, j) if is_table else at(j, i)
                for i in range(shape[0]) for j in range(shape[1])]
        self.tensors[name] = shape, data
        bytes_of_row = columns // 2 if is_table else blocks * BLOCK // 2
        self.packed[name] = {
            "q": (graph.UINT8,
                  [rows, bytes_of_row] if is_table else [rows, blocks, BLOCK // 2],
                  pack([row[:2 * bytes_of_row] for row in codes], 4)),
            "scales": (graph.FLOAT, [rows, blocks], scales),
            "zeros": (graph.UINT8, [rows, -(-blocks // 2)], pack(points, 4))}

    def row(self, name, index):
        shape, data = self.tensors[name]
        return data[index * shape[1]:(index + 1) * shape[1]]

    def multiply(self, x, name):
        (_, columns), data = self.tensors[name]
        return [sum(a * data[i * columns + j] for i, a in enumerate(x))
                for j in range(columns)]

    def norm(self, x, name):
        root = math.sqrt(sum(a * a for a in x) / len(x) + EPSILON)
        return [a / root * w for a, w in zip(x, self.tensors[name][1])]


def rotate(x, heads, position):
    y = list(x)
    for h in range(heads):
        for i, frequency in enumerate(FREQUENCIES):
            angle = position * frequency
            a, b = x[h * SIZE + i], x[h * SIZE + i + SIZE // 2]
            y[h * SIZE + i] = a * math.cos(angle) - b * math.sin(angle)
            y[h * SIZE + i + SIZE // 2] = b * math.cos(angle) + a * math.sin(angle)
    return y


def compute(weights, ids, mask=None):
    """Logits of all tokens of a sequence, in float64."""
    mask = mask or [1] * len(ids)
    rows = [weights.row("table", i) for i in ids]
    for i in range(LAYERS):
        normed = [weights.norm(x, f"norm1.{i}") for x in rows]
        q = [rotate(weights.multiply(x, f"q.{i}"), HEADS, p)
             for p, x in enumerate(normed)]
        k = [rotate(weights.multiply(x, f"k.{i}"), KEY_HEADS, p)
             for p, x in enumerate(normed)]
        v = [weights.multiply(x, f"v.{i}") for x in normed]
        for p in range(len(rows)):
            out = []
            seen = [j for j in range(p + 1) if mask[j]]
            # Where all keys have the lowest score they weigh the same.
            alike = not seen
            seen = seen or range(len(rows))
            for h in range(HEADS):
                g = h // (HEADS // KEY_HEADS) * SIZE
                scores = [sum(q[p][h * SIZE + d] * k[j][g + d]
                              for d in range(SIZE)) / math.sqrt(SIZE) for j in seen]
                most = max(scores)
                parts = [1.0 if alike else math.exp(s - most) for s in scores]
                out += [sum(w * v[j][g + d] for w, j in zip(parts, seen))
                        / sum(parts) for d in range(SIZE)]
            rows[p] = [a + b for a, b in
                       zip(rows[p], weights.multiply(out, f"o.{i}"))]
        for p, x in enumerate(rows):
            x = weights.norm(x, f"norm2.{i}")
            gate, up = (weights.multiply(x, f"{n}.{i}") for n in ("gate", "up"))
            inner = [a / (1 + math.exp(-a)) * b for a, b in zip(gate, up)]
            rows[p] = [a + b for a, b in
                       zip(rows[p], weights.multiply(inner, f"down.{i}"))]
    return [weights.multiply(weights.norm(x, "norm"), "head") for x in rows]


class Exporter:
    """Writes the decoder: `past` as optimum does, else as torch."""

    def __init__(self, weights, past):
        self.past = past
        g = self.g = graph.Graph()
        for name, (shape, data) in weights.tensors.items():
            g.weight(name, list(shape), data)
        self.last = g.ints(-1)
        total = "past_length + length" if past else "length"
        ids = g.input("input_ids", graph.INT64, ["batch", "length"])
        mask = g.input("attention_mask", graph.INT64, ["batch", total])
        if past:
            positions = g.input("position_ids", graph.INT64, ["batch", "length"])
            self.pasts = [g.input(f"past_key_values.{i}.{n}", graph.FLOAT,
                                  ["batch", KEY_HEADS, "past_length", SIZE])
                          for i in range(LAYERS) for n in ("key", "value")]
        self.batch, self.length, self.total = (
            g.node("Shape", value, start=s, end=s + 1)
            for value, s in ((ids, 0), (ids, 1), (mask, 1)))
        if not past:
            positions = g.node("Unsqueeze", self.range(self.length), g.ints(0))
        self.mask = self.make_mask(mask)
        self.make_tables(positions)
        x = g.node("Gather", "table", ids)
        for i in range(LAYERS):
            x = self.layer(x, i)
        logits = g.node("MatMul", self.norm(x, "norm"), "head")
        g.output(logits, "logits", graph.FLOAT, ["batch", "length", IDS])

    def scalar(self, value):
        return self.g.node("Squeeze", value, self.g.ints(0))

    def range(self, end):
        g = self.g
        return g.node("Range", g.ints(0, shape=[]), self.scalar(end),
                      g.ints(1, shape=[]))

    def make_mask(self, mask):
        g = self.g
        if self.past:
            # (1 - visible) * lowest, with the past before the diagonal.
            full = g.node("ConstantOfShape",
                          g.node("Concat", self.total, self.total, axis=0))
            ones = g.node("Add", full, g.floats(1.0, shape=[]))
            below = g.node("Trilu", ones, upper=0)
            start = g.node("Sub", self.total, self.length)
            causal = g.node("Slice", below, start, self.total, g.ints(0))
            seen = g.node("Cast", mask, to=graph.FLOAT)
            seen = g.node("Unsqueeze", seen, g.ints(1, 2))
            seen = g.node("Mul", g.node("Unsqueeze", causal, g.ints(0, 1)), seen)
            hidden = g.node("Sub", g.floats(1.0, shape=[]), seen)
            return g.node("Mul", hidden, g.floats(LOW, shape=[]))
        tokens = self.range(self.length)
        queries = g.node("Unsqueeze", tokens, g.ints(0, 1, 3))
        keys = g.node("Unsqueeze", tokens, g.ints(0, 1, 2))
        causal = g.node("LessOrEqual", keys, queries)
        batches = g.node("Unsqueeze", self.range(self.batch), g.ints(1, 2, 3))
        shape = g.node("Concat", self.batch, g.ints(1, 1), self.length, axis=0)
        places = g.node(
            "Concat", *(g.node("Unsqueeze", g.node("Expand", x, shape), self.last)
                        for x in (batches, keys)), axis=-1)
        seen = g.node("GatherND", g.node("Cast", mask, to=graph.BOOL), places)
        return g.node("Where", g.node("And", causal, seen),
                      g.floats(0.0, shape=[]), g.floats(LOW, shape=[]))

    def make_tables(self, positions):
        g = self.g
        frequencies = g.floats(*FREQUENCIES, shape=[1, len(FREQUENCIES), 1])
        numbers = g.node("Cast", g.node("Unsqueeze", positions, g.ints(1)),
                         to=graph.FLOAT)
        angles = g.node("Transpose", g.node("MatMul", frequencies, numbers),
                        perm=[0, 2, 1])
        angles = g.node("Concat", angles, angles, axis=-1)
        self.cosine, self.sine = (
            g.node("Unsqueeze", g.node(f, angles), g.ints(1))
            for f in ("Cos", "Sin"))

    def norm(self, x, weight):
        g = self.g
        square = (g.node("Pow", x, g.floats(2.0, shape=[])) if self.past
                  else g.node("Mul", x, x))
        mean = g.node("ReduceMean", square, self.last, keepdims=1)
        root = g.node("Sqrt", g.node("Add", mean, g.floats(EPSILON, shape=[])))
        y = (g.node("Div", x, root) if self.past
             else g.node("Mul", x, g.node("Reciprocal", root)))
        return g.node("Mul", weight, y)

    def heads(self, x, count):
        g = self.g
        shape = g.node("Concat", self.batch, self.length, g.ints(count, SIZE),
                       axis=0)
        return g.node("Transpose", g.node("Reshape", x, shape), perm=[0, 2, 1, 3])

    def rotate(self, x):
        g = self.g
        axis, half, end = g.ints(3), g.ints(SIZE // 2), g.ints(2**63 - 1)
        first = g.node("Slice", x, g.ints(0), half, axis)
        second = g.node("Slice", x, half, end, axis)
        turned = g.node("Concat", g.node("Neg", second), first, axis=-1)
        return g.node("Add", g.node("Mul", x, self.cosine),
                      g.node("Mul", turned, self.sine))

    def repeat(self, x, length):
        g = self.g
        times = HEADS // KEY_HEADS
        shape = g.node("Concat", self.batch, g.ints(KEY_HEADS, times), length,
                       g.ints(SIZE), axis=0)
        x = g.node("Expand", g.node("Unsqueeze", x, g.ints(2)), shape)
        return g.node("Reshape", x, g.node("Concat", self.batch, g.ints(HEADS),
                                           length, g.ints(SIZE), axis=0))

    def layer(self, x, i):
        g = self.g
        y = self.norm(x, f"norm1.{i}")
        q = self.rotate(self.heads(g.node("MatMul", y, f"q.{i}"), HEADS))
        k = self.rotate(self.heads(g.node("MatMul", y, f"k.{i}"), KEY_HEADS))
        v = self.heads(g.node("MatMul", y, f"v.{i}"), KEY_HEADS)
        if self.past:
            k = g.node("Concat", self.pasts[2 * i], k, axis=-2)
            v = g.node("Concat", self.pasts[2 * i + 1], v, axis=-2)
            for name, value in (("key", k), ("value", v)):
                g.output(value, f"present.{i}.{name}", graph.FLOAT,
                         ["batch", KEY_HEADS, "past_length + length", SIZE])
        k, v = self.repeat(k, self.total), self.repeat(v, self.total)
        k = g.node("Transpose", k, perm=[0, 1, 3, 2])
        if self.past:
            scores = g.node("Div", g.node("MatMul", q, k),
                            g.floats(math.sqrt(SIZE), shape=[]))
        else:
            root = g.floats(SIZE ** -0.25, shape=[])
            scores = g.node("MatMul", g.node("Mul", q, root),
                            g.node("Mul", k, root))
        parts = g.node("Softmax", g.node("Add", scores, self.mask), axis=-1)
        out = g.node("Transpose", g.node("MatMul", parts, v), perm=[0, 2, 1, 3])
        out = g.node("Reshape", out, g.node("Concat", self.batch, self.length,
                                            self.last, axis=0))
        x = g.node("Add", x, g.node("MatMul", out, f"o.{i}"))
        y = self.norm(x, f"norm2.{i}")
        gate = g.node("MatMul", y, f"gate.{i}")
        gate = g.node("Mul", gate, g.node("Sigmoid", gate))
        inner = g.node("Mul", gate, g.node("MatMul", y, f"up.{i}"))
        return g.node("Add", x, g.node("MatMul", inner, f"down.{i}"))


class GenaiExporter:
    """Writes the decoder as the model builder of onnxruntime-genai does. `kind`:
    plain, joined (queries, keys and values by one matrix), positions (heads are
    rotated before the attention, by an input) or quantized (weights of 4 bits)."""

    def __init__(self, weights, kind):
        self.kind, self.weights = kind, weights
        g = self.g = graph.Graph()
        ids = g.input("input_ids", graph.INT64, ["batch_size", "sequence_length"])
        mask = g.input("attention_mask", graph.INT64,
                       ["batch_size", "total_sequence_length"])
        self.positions = None
        if kind == "positions":
            self.positions = g.input("position_ids", graph.INT64,
                                     ["batch_size", "sequence_length"])
        self.pasts = [g.input(f"past_key_values.{i}.{n}", graph.FLOAT,
                              ["batch_size", KEY_HEADS, "past_sequence_length", SIZE])
                      for i in range(LAYERS) for n in ("key", "value")]
        lasts = g.node("Sub", g.node("ReduceSum", mask, g.ints(1)), g.ints(1))
        self.lasts = g.node("Cast", lasts, to=graph.INT32)
        total = g.node("Gather", g.node("Shape", mask), g.ints(1, shape=[]), axis=0)
        self.total = g.node("Cast", total, to=graph.INT32)
        self.cosine, self.sine = (
            g.weight(name, [POSITIONS, len(FREQUENCIES)],
                     [f(p * x) for p in range(POSITIONS) for x in FREQUENCIES])
            for name, f in (("cos_cache", math.cos), ("sin_cache", math.sin)))
        if kind == "quantized":
            x = g.node("GatherBlockQuantized", self.packed("table", "q"), ids,
                       self.packed("table", "scales"),
                       self.packed("table", "zeros"), domain="com.microsoft",
                       gather_axis=0, quantize_axis=1, block_size=BLOCK)
        else:
            x = g.node("Gather", self.weight("table"), ids)
        normed = g.node("SimplifiedLayerNormalization", x, self.weight("norm1.0"),
                        axis=-1, epsilon=EPSILON, stash_type=1)
        for i in range(LAYERS):
            after = f"norm1.{i + 1}" if i + 1 < LAYERS else "norm"
            normed, x = self.layer(normed, x, i, after)
        g.output(self.multiply(normed, "head"), "logits", graph.FLOAT,
                 ["batch_size", "sequence_length", IDS])

    def weight(self, name):
        shape, data = self.weights.tensors[name]
        return self.g.weight(name, list(shape), data)

    def packed(self, name, part):
        type_, shape, values = self.weights.packed[name][part]
        return self.g.weight(f"{name}.{part}", shape, values, type_)

    def multiply(self, x, name):
        if self.kind != "quantized":
            return self.g.node("MatMul", x, self.weight(name))
        inputs, outputs = self.weights.tensors[name][0]
        return self.g.node("MatMulNBits", x,
                           *(self.packed(name, part)
                             for part in ("q", "scales", "zeros")),
                           domain="com.microsoft", K=inputs, N=outputs, bits=4,
                           block_size=BLOCK)

    def join(self, i):
        """The three matrices of queries, keys and values beside each other."""
        parts = [self.weights.tensors[f"{name}.{i}"] for name in "qkv"]
        data = [x for row in range(HIDDEN) for (_, columns), values in parts
                for x in values[row * columns:(row + 1) * columns]]
        width = sum(shape[1] for shape, _ in parts)
        return self.g.weight(f"qkv.{i}", [HIDDEN, width], data)

    def skip_norm(self, x, y, weight):
        results = self.g.node("SkipSimplifiedLayerNormalization", x, y,
                              self.weight(weight), outputs=4,
                              domain="com.microsoft", epsilon=EPSILON)
        return results[0], results[3]

    def layer(self, normed, x, i, after):
        g = self.g
        if self.kind == "joined":
            heads = [g.node("MatMul", normed, self.join(i)), None, None]
        else:
            heads = [self.multiply(normed, f"{name}.{i}") for name in "qkv"]
        tables = (self.cosine, self.sine)
        if self.positions:
            for part in (0, 1):
                heads[part] = g.node("RotaryEmbedding", heads[part], self.positions,
                                     *tables, domain="com.microsoft")
            tables = ()
        out, *presents = g.node(
            "GroupQueryAttention", *heads, *self.pasts[2 * i:2 * i + 2], self.lasts,
            self.total, *tables, outputs=3, domain="com.microsoft",
            num_heads=HEADS, kv_num_heads=KEY_HEADS, scale=SIZE ** -0.5,
            do_rotary=int(bool(tables)), rotary_interleaved=0, local_window_size=-1)
        for name, value in zip(("key", "value"), presents):
            g.output(value, f"present.{i}.{name}", graph.FLOAT,
                     ["batch_size", KEY_HEADS, "total_sequence_length", SIZE])
        normed, x = self.skip_norm(x, self.multiply(out, f"o.{i}"), f"norm2.{i}")
        gate = self.multiply(normed, f"gate.{i}")
        gate = g.node("Mul", gate, g.node("Sigmoid", gate))
        inner = g.node("Mul", gate, self.multiply(normed, f"up.{i}"))
        return self.skip_norm(x, self.multiply(inner, f"down.{i}"), after)
