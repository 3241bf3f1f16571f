"""Cases of MoE, QMoE and EmbedLayerNormalization."""

import math

import graph
from case import Case, Numbers, Tensor, places, weight
from packed import ceil, pack


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
}


class Layer:
    """The layers of all experts: [experts, outputs, inputs]."""

    def __init__(self, n, experts, outputs, inputs, has_bias, bits=None, block=0,
                 has_zeros=False):
        self.experts, self.outputs, self.inputs = experts, outputs, inputs
        self.bias = n.floats(experts, outputs) if has_bias else None
        self.scales = self.zeros = None
        if bits is None:
            self.tensor = n.floats(experts, outputs, inputs)
            self.at = self.tensor.at
            return
        rows = experts * outputs
        codes = [[n.random.randrange(1 << bits) for _ in range(inputs)]
                 for _ in range(rows)]
        self.tensor = Tensor(graph.UINT8, [experts, outputs, inputs * bits // 8],
                             pack(codes, bits))
        blocks = inputs // block if block else 1
        shape = [experts, outputs] + ([blocks] if block else [])
        self.scales = n.floats(*shape, low=0.05, high=0.2)
        points = [[1 << bits - 1] * blocks for _ in range(rows)]
        if has_zeros:
            points = [[n.random.randrange(1 << bits) for _ in range(blocks)]
                      for _ in range(rows)]
            if block:
                packed = pack(points, bits)
                zero_shape = [experts, outputs, ceil(blocks * bits, 8)]
            else:
                # The points of an expert's rows lie together.
                packed = pack([[points[e * outputs + j][0] for j in range(outputs)]
                               for e in range(experts)], bits)
                zero_shape = [experts, ceil(outputs * bits, 8)]
            self.zeros = Tensor(graph.UINT8, zero_shape, packed)
        def at(e, j, k):
            row, of_block = e * outputs + j, k // block if block else 0
            return ((codes[row][k] - points[row][of_block])
                    * self.scales.values[row * blocks + of_block])
        self.at = at

    def apply(self, e, x):
        return [sum(self.at(e, j, k) * x[k] for k in range(self.inputs))
                + (self.bias.at(e, j) if self.bias else 0)
                for j in range(self.outputs)]


def experts_case(seed, name, *, shape=(5,), hidden=6, inner=4, experts=4, k=2,
                 activation="relu", normalizes=False, fusion=0, has_third=False,
                 has_bias=False, limit=None, alpha=1.0, beta=0.0, bits=None, block=0,
                 has_zeros=False, has_mixing=False, tolerance=1e-5,
                 is_recorded=True):
    n = Numbers(seed, name)
    tokens = math.prod(shape)
    x = n.floats(*shape, hidden)
    router = n.floats(tokens, experts, low=-2, high=2)
    mixing = n.floats(tokens, experts, low=0, high=1) if has_mixing else None
    options = {"has_bias": has_bias, "bits": bits, "block": block,
               "has_zeros": has_zeros}
    first = Layer(n, experts, inner * (2 if fusion else 1), hidden, **options)
    second = Layer(n, experts, hidden, inner, **options)
    third = Layer(n, experts, inner, hidden, **options) if has_third else None
    def gate(g, linear):
        if limit is not None:
            g, linear = min(g, limit), max(-limit, min(linear, limit))
        return g * sigmoid(alpha * g) * (linear + beta)
    result = []
    for token in range(tokens):
        row = x.values[token * hidden:(token + 1) * hidden]
        logits = [router.at(token, e) for e in range(experts)]
        parts = [math.exp(logit) for logit in logits]
        chosen = sorted(range(experts), key=lambda e: -logits[e])[:k]
        weights = [mixing.at(token, e) if mixing else parts[e] / sum(parts)
                   for e in chosen]
        if normalizes:
            weights = [w / sum(weights) for w in weights]
        total = [0.0] * hidden
        for w, e in zip(weights, chosen):
            h = first.apply(e, row)
            if fusion == 1:
                h = [gate(h[2 * i], h[2 * i + 1]) for i in range(inner)]
            elif fusion == 2:
                h = [gate(h[i], h[inner + i]) for i in range(inner)]
            elif activation == "swiglu":
                h = [gate(a, b) for a, b in zip(h, third.apply(e, row))]
            else:
                h = [ACTIVATIONS[activation](a) for a in h]
                if third:
                    h = [a * b for a, b in zip(h, third.apply(e, row))]
            total = [t + w * y for t, y in zip(total, second.apply(e, h))]
        result += total
    attributes = {"k": k, "activation_type": activation}
    for key, given, default in (("normalize_routing_weights", int(normalizes), 0),
                                ("swiglu_fusion", fusion, 0),
                                ("swiglu_limit", limit, None),
                                ("activation_alpha", alpha, 1.0),
                                ("activation_beta", beta, 0.0)):
        if given != default:
            attributes[key] = given
    layers = [("fc1", first), ("fc2", second), ("fc3", third)]
    inputs = [("input", x), ("router_probs", router)]
    for part, layer in layers:
        tensors = [("experts_weights", layer and layer.tensor),
                   ("scales", layer and layer.scales),
                   ("experts_bias", layer and layer.bias)]
        inputs += [(f"{part}_{what}", tensor and weight(tensor))
                   for what, tensor in tensors if bits or what != "scales"]
    if bits:
        inputs += [(f"{part}_zero_points", layer and layer.zeros
                    and weight(layer.zeros)) for part, layer in layers]
        inputs.append(("router_weights", mixing))
        attributes.update(expert_weight_bits=bits, weights_prepacked=0)
        if block:
            attributes["block_size"] = block
    return Case(name, "QMoE" if bits else "MoE", inputs,
                [Tensor(graph.FLOAT, [*shape, hidden], result)], attributes,
                tolerance, is_recorded)


def expert_cases(seed):
    def make(name, **options):
        return experts_case(seed, "experts_" + name, **options)

    yield make("relu")
    # The kernel for CPUs has the form with tanh.
    yield make("gelu", activation="gelu", has_bias=True, is_recorded=False)
    yield make("silu", activation="silu", k=1)
    yield make("identity", activation="identity", k=3)
    yield make("normalized", activation="silu", normalizes=True)
    yield make("all", k=4, normalizes=True)
    yield make("batches", shape=(2, 3), hidden=5, inner=3, experts=3)
    yield make("interleaved", activation="swiglu", fusion=1, has_bias=True,
               normalizes=True)
    yield make("interleaved_limit", activation="swiglu", fusion=1, limit=0.5,
               alpha=1.702, beta=1.0, has_bias=True)
    yield make("halves", activation="swiglu", fusion=2, is_recorded=False)
    yield make("swiglu_third", activation="swiglu", has_third=True,
               is_recorded=False)
    yield make("silu_third", activation="silu", has_third=True, has_bias=True,
               is_recorded=False)

    def make(name, **options):
        return experts_case(seed, "packed_experts_" + name,
                            **{"hidden": 32, "inner": 16, "bits": 4, "shape": (3,),
                               "activation": "silu", "normalizes": True, **options})

    yield make("rows")
    yield make("rows_zeros", has_zeros=True)
    yield make("rows_zeros_odd", has_zeros=True, hidden=10, inner=6)
    yield make("blocks", block=16)
    yield make("blocks_zeros", block=16, has_zeros=True, hidden=48)
    yield make("bias", has_bias=True, activation="relu")
    yield make("interleaved", activation="swiglu", fusion=1, has_bias=True,
               limit=7.0, alpha=1.702, beta=1.0)
    yield make("halves", activation="swiglu", fusion=2, is_recorded=False)
    yield make("8_bits", bits=8)
    yield make("8_bits_zeros", bits=8, has_zeros=True, hidden=7, inner=5)
    # ONNX Runtime rounds activations to 8 bits there.
    yield make("8_bits_blocks", bits=8, block=16, has_zeros=True, is_recorded=False)
    yield make("2_bits", bits=2, has_zeros=True)
    # The kernel for CPUs of packed weights always normalizes.
    yield make("plain_weights", normalizes=False, is_recorded=False)
    yield make("mixing", has_mixing=True, normalizes=False)
    yield make("mixing_normalized", has_mixing=True)
    yield make("third", has_third=True, is_recorded=False)


# EmbedLayerNormalization --------------------------------------------------------

def embedding(seed, name, *, batch=2, length=3, width=5, words=7, most=6, segments=0,
              positions=None, mask=False, wants_index=False, wants_sum=False,
              epsilon=1e-12, is_recorded=True):
    n = Numbers(seed, name)
    ids = n.integers(graph.INT32, 0, words, batch, length)
    table, places_table = weight(n.floats(words, width)), weight(n.floats(most, width))
    kinds = n.integers(graph.INT32, 0, segments, batch, length) if segments else None
    kind_table = weight(n.floats(segments, width)) if segments else None
    gamma, beta = weight(n.floats(width)), weight(n.floats(width))
    seen = n.integers(graph.INT32, 0, 2, batch, length) if mask else None
    given = n.integers(graph.INT32, 0, most, positions, length) if positions else None
    sums, result = [], []
    for b, s in places(batch, length):
        place = given.at(b, s) if given else s
        row = [table.at(ids.at(b, s), d) + places_table.at(place, d)
               + (kind_table.at(kinds.at(b, s), d) if kinds else 0)
               for d in range(width)]
        mean = sum(row) / width
        deviation = math.sqrt(sum((a - mean) ** 2 for a in row) / width + epsilon)
        sums += row
        result += [(a - mean) / deviation * gamma.at(d) + beta.at(d)
                   for d, a in enumerate(row)]
    counts = [sum(seen.at(b, s) for s in range(length)) if seen else 0
              for b in range(batch)]
    outputs = [Tensor(graph.FLOAT, [batch, length, width], result),
               Tensor(graph.INT32, [batch], counts) if wants_index else None,
               Tensor(graph.FLOAT, [batch, length, width], sums)
               if wants_sum else None]
    if not wants_sum:
        outputs.pop()
    return Case(name, "EmbedLayerNormalization", [
        ("input_ids", ids), ("segment_ids", kinds), ("word_embedding", table),
        ("position_embedding", places_table), ("segment_embedding", kind_table),
        ("gamma", gamma), ("beta", beta), ("mask", seen), ("position_ids", given)],
        outputs, {} if epsilon == 1e-12 else {"epsilon": epsilon},
        is_recorded=is_recorded)


def embedding_cases(seed):
    def make(name, **options):
        return embedding(seed, "embedding_" + name, **options)

    yield make("plain")
    yield make("segments", segments=2)
    yield make("mask", mask=True, wants_index=True, segments=3)
    yield make("no_mask_index", wants_index=True)
    yield make("sum", wants_index=True, wants_sum=True, mask=True)
    yield make("positions", positions=2)
    yield make("positions_of_all", positions=1)
    yield make("epsilon", epsilon=0.5)


def cases(seed):
    yield from expert_cases(seed)
    yield from embedding_cases(seed)
