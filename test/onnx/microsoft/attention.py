"""Cases of GroupQueryAttention, MultiHeadAttention, Attention and
PackedMultiHeadAttention."""

import math

import graph
from case import Case, Numbers, Tensor, places, store, weight


def soften(scores, values, size, sink=None):
    """The values weighted by the softmax of the scores; a sink is a score without a
    value."""
    most = max(scores + ([] if sink is None else [sink]))
    parts = [math.exp(score - most) for score in scores]
    total = sum(parts) + (0 if sink is None else math.exp(sink - most))
    return [sum(part * value[d] for part, value in zip(parts, values)) / total
            for d in range(size)]


def product(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def take(tensor, row, start, size):
    """`size` elements of the last dimension."""
    return [tensor.at(*row, start + d) for d in range(size)]


def rotate(x, position, cosine, sine, is_interleaved):
    half = cosine.shape[1]
    y = list(x)
    for i in range(half):
        a, b = (2 * i, 2 * i + 1) if is_interleaved else (i, i + half)
        c, s = cosine.at(position, i), sine.at(position, i)
        y[a], y[b] = x[a] * c - x[b] * s, x[b] * c + x[a] * s
    return y


def normalize(x, scale, epsilon):
    root = math.sqrt(product(x, x) / len(x) + epsilon)
    return [a / root * w for a, w in zip(x, scale.values, strict=True)]


# GroupQueryAttention ------------------------------------------------------------

def group_query(seed, name, *, totals, length, past=None, heads=4, key_heads=2,
                size=8, is_packed=False, rotary=0, is_interleaved=False, window=-1,
                softcap=0.0, scale=0.0, sink=None, bias=None, has_positions=False,
                has_norms=False, type_=graph.FLOAT, tolerance=1e-5, is_dynamic=False,
                is_recorded=True):
    """`totals`: lengths of the sequences with the new rows; `past`: rows that the
    inputs for the past have; `rotary`: elements of a head that are rotated;
    `sink`: of each head, or of all (smooth)."""
    n = Numbers(seed, name)
    batch, most = len(totals), max(totals)
    width, key_width = heads * size, key_heads * size
    rows = {"q": n.floats(batch, length, width, type_=type_, low=-2, high=2),
            "k": n.floats(batch, length, key_width, type_=type_, low=-2, high=2),
            "v": n.floats(batch, length, key_width, type_=type_)}
    if is_dynamic:
        for tensor in rows.values():
            tensor.symbols = ["batch", "length", tensor.shape[2]]
    query, key, value = rows["q"], rows["k"], rows["v"]
    if is_packed:
        query = Tensor(type_, [batch, length, width + 2 * key_width], [
            x for place in places(batch, length) for part in "qkv"
            for x in take(rows[part], place, 0, rows[part].shape[2])])
        key = value = None
    before = {part: None for part in "kv"}
    if past is not None:
        before = {part: n.floats(batch, key_heads, past, size, type_=type_)
                  for part in "kv"}
        if is_dynamic:
            for tensor in before.values():
                tensor.symbols = ["batch", key_heads, past, size]
    # A past that is not large enough grows.
    present = max(past, most) if past is not None else length
    table = most + 3
    cosine, sine, norms, positions = None, None, (None, None), None
    if rotary:
        angles = [[row * 0.6 ** i for i in range(rotary // 2)] for row in range(table)]
        cosine, sine = (
            weight(Tensor(type_, [table, rotary // 2],
                          store(type_, [f(x) for row in angles for x in row])))
            for f in (math.cos, math.sin))
    if has_norms:
        norms = tuple(weight(n.floats(size, type_=type_, low=0.5, high=1.5))
                      for _ in range(2))
    if has_positions:
        positions = n.integers(graph.INT64, 0, table - length, batch, length)
        # Of a first prompt the first position counts only.
        position_of = (lambda b, s: positions.values[0] + s) if most == length \
            else positions.at
    else:
        position_of = None
    added = n.floats(*bias, length, present, type_=type_) if bias else None
    sinks = n.floats(heads, type_=type_) if sink == "heads" else None

    result = [None] * (batch * length * width)
    caches = {part: [None] * (batch * key_heads * present * size) for part in "kv"}
    for b, total in enumerate(totals):
        new = min(length, total)
        first = total - new
        keys, values = {}, {}
        for h in range(key_heads):
            keys[h], values[h] = ([take(before[part], (b, h, j), 0, size)
                                   for j in range(first)] for part in "kv")
            for s in range(new):
                x = take(rows["k"], (b, s), h * size, size)
                x = normalize(x, norms[1], 1e-6) if norms[1] else x
                if rotary:
                    position = position_of(b, s) if positions else first + s
                    x = rotate(x, position, cosine, sine, is_interleaved)
                keys[h].append(x)
                values[h].append(take(rows["v"], (b, s), h * size, size))
            for j in range(total):
                start = ((b * key_heads + h) * present + j) * size
                caches["k"][start:start + size] = keys[h][j]
                caches["v"][start:start + size] = values[h][j]
        for s, h in places(new, heads):
            g = h // (heads // key_heads)
            x = take(rows["q"], (b, s), h * size, size)
            x = normalize(x, norms[0], 1e-6) if norms[0] else x
            here = first + s
            if rotary:
                position = position_of(b, s) if positions else here
                x = rotate(x, position, cosine, sine, is_interleaved)
            seen = [j for j in range(here + 1) if window < 0 or j > here - window]
            scores = []
            for j in seen:
                score = product(x, keys[g][j]) * (scale or 1 / math.sqrt(size))
                score = softcap * math.tanh(score / softcap) if softcap else score
                scores.append(score + (added.at(b, h, s, j) if added else 0))
            own = {None: None, "smooth": 0.0}.get(sink) if sink != "heads" \
                else sinks.at(h)
            start = ((b * length + s) * heads + h) * size
            result[start:start + size] = soften(
                scores, [values[g][j] for j in seen], size, own)
    attributes = {"num_heads": heads, "kv_num_heads": key_heads}
    for key_name, given, default in (
            ("scale", scale, 0.0), ("softcap", softcap, 0.0),
            ("local_window_size", window, -1), ("do_rotary", int(bool(rotary)), 0),
            ("rotary_interleaved", int(is_interleaved), 0),
            ("smooth_softmax", int(sink == "smooth"), 0)):
        if given != default:
            attributes[key_name] = given
    lengths = Tensor(graph.INT32, [batch], [total - 1 for total in totals])
    outputs = [Tensor(type_, [batch, length, width], result),
               *(Tensor(type_, [batch, key_heads, present, size], caches[part])
                 for part in "kv")]
    if is_dynamic:
        lengths.symbols = ["batch"]
        outputs[0].symbols = ["batch", "length", width]
        for tensor in outputs[1:]:
            tensor.symbols = ["batch", key_heads, present, size]
    return Case(name, "GroupQueryAttention", [
        ("query", query), ("key", key), ("value", value), ("past_key", before["k"]),
        ("past_value", before["v"]), ("seqlens_k", lengths),
        ("total_sequence_length", weight(Tensor(graph.INT32, [], [most]))),
        ("cos_cache", cosine), ("sin_cache", sine), ("position_ids", positions),
        ("attention_bias", added), ("head_sink", sinks), ("k_scale", None),
        ("v_scale", None), ("q_norm_weight", norms[0]), ("k_norm_weight", norms[1]),
    ], outputs, attributes, tolerance, is_recorded)


def group_query_cases(seed):
    def make(name, **options):
        return group_query(seed, "group_query_" + name, **options)

    yield make("prompt", totals=[5, 5], length=5)
    yield make("prompt_empty_past", totals=[4], length=4, past=0)
    yield make("prompt_ragged", totals=[5, 3], length=5, past=5)
    yield make("packed", totals=[3, 3], length=3, past=3, is_packed=True)
    yield make("one_token", totals=[4, 6], length=1, past=5)
    yield make("capacity", totals=[4, 6], length=1, past=9)
    yield make("chunk", totals=[7], length=3, past=4)
    yield make("odd_size", totals=[5], length=2, past=3, heads=3, key_heads=1,
               size=7, is_recorded=False)
    yield make("multi_head", totals=[4], length=4, heads=3, key_heads=3, past=4)
    turned = {"size": 16, "heads": 2, "key_heads": 1, "rotary": 16}
    yield make("rotary", totals=[4, 3], length=4, past=4, **turned)
    yield make("rotary_capacity", totals=[3, 5], length=1, past=7, **turned)
    yield make("rotary_chunk", totals=[5], length=2, past=3, **turned)
    yield make("rotary_interleaved", totals=[5], length=2, past=3,
               is_interleaved=True, **turned)
    yield make("rotary_part", totals=[4], length=2, past=2,
               **{**turned, "size": 32})
    yield make("rotary_part_interleaved", totals=[4], length=2, past=2,
               is_interleaved=True, **{**turned, "size": 24}, is_recorded=False)
    yield make("rotary_positions", totals=[5, 6], length=1, past=5,
               has_positions=True, **turned)
    yield make("rotary_positions_prompt", totals=[3, 2], length=3, past=3,
               has_positions=True, **turned)
    yield make("rotary_positions_chunk", totals=[5], length=2, past=3,
               has_positions=True, **turned)
    yield make("rotary_positions_no_past", totals=[3], length=3,
               has_positions=True, **turned)
    yield make("rotary_packed", totals=[4, 5], length=1, past=4, is_packed=True,
               **turned)
    yield make("rotary_window", totals=[6], length=1, past=5, window=4, **turned)
    yield make("window", totals=[9], length=9, past=9, window=3)
    yield make("window_one_token", totals=[8], length=1, past=7, window=4)
    yield make("softcap", totals=[6], length=6, past=6, softcap=1.5)
    yield make("scale", totals=[5], length=5, past=5, scale=0.7)
    yield make("bias", totals=[5], length=5, past=5, bias=(1, 1))
    yield make("bias_of_heads", totals=[6, 6], length=1, past=5, bias=(2, 4))
    yield make("bias_softcap", totals=[5], length=5, past=5, bias=(1, 4),
               softcap=1.0)
    yield make("smooth", totals=[5, 3], length=5, past=5, sink="smooth")
    yield make("sink", totals=[6, 4], length=1, past=6, sink="heads")
    yield make("sink_window", totals=[9], length=9, past=9, sink="heads", window=4)
    yield make("sink_prompt", totals=[4], length=4, sink="heads")
    yield make("half", totals=[4, 4], length=4, past=4, type_=graph.FLOAT16,
               tolerance=4e-3, **turned)
    yield make("norms", totals=[5, 4], length=5, past=5, rotary=8, has_norms=True,
               is_recorded=False)
    yield make("dynamic", totals=[4, 3], length=1, past=5, is_dynamic=True, **turned)


# MultiHeadAttention -------------------------------------------------------------

def plain(queries, keys, values, size, value_size, scale, causal_offset, mask, bias):
    """[batch][head][row] vectors; `mask(b, s, j)` and `bias(b, h, s, j)` are added
    to scores."""
    result = []
    for b, of_batch in enumerate(queries):
        rows = len(of_batch[0])
        for s in range(rows):
            for h, of_head in enumerate(of_batch):
                seen = [j for j in range(len(keys[b][h]))
                        if causal_offset is None or j <= s + causal_offset]
                scores = [product(of_head[s], keys[b][h][j])
                          * (scale or 1 / math.sqrt(size))
                          + mask(b, s, j) + bias(b, h, s, j) for j in seen]
                result += soften(scores, [values[b][h][j] for j in seen], value_size)
    return result


def mask_tolerance(mask, filter_value):
    """Numbers of 32 bits near -10000, where a row sees nothing, have steps of 1e-3."""
    return 1e-3 if mask and filter_value < -1000 else 1e-5


def make_mask(n, form, batch, length, total, filter_value):
    """(tensor of integers, what it adds to a score)"""
    if form is None:
        return None, lambda b, s, j: 0
    if form in ("ends", "sums"):
        ends = [n.random.randrange(1, total + 1) for _ in range(batch)]
        values = list(ends)
        if form == "sums":
            # Sums of lengths of queries and of keys are behind the lengths.
            values += [length * b for b in range(batch + 1)]
            values += [sum(ends[:b]) for b in range(batch + 1)]
        tensor = Tensor(graph.INT32, [len(values)], values)
        keep = lambda b, s, j: j < ends[b]
    elif form == "spans":
        starts = [n.random.randrange(0, total - 1) for _ in range(batch)]
        ends = [n.random.randrange(start + 1, total + 1) for start in starts]
        tensor = Tensor(graph.INT32, [2 * batch], ends + starts)
        keep = lambda b, s, j: starts[b] <= j < ends[b]
    else:
        shape = {"keys": [batch, total], "pairs": [batch, length, total],
                 "square": [batch, 1, total + 2, total + 2]}[form]
        tensor = n.integers(graph.INT32, 0, 2, *shape)
        keep = {"keys": lambda b, s, j: tensor.at(b, j),
                "pairs": lambda b, s, j: tensor.at(b, s, j),
                "square": lambda b, s, j: tensor.at(b, 0, s + total - length, j)}[form]
    return tensor, lambda b, s, j: 0 if keep(b, s, j) else filter_value


def multi_head(seed, name, *, batch=2, length=3, keys=None, heads=3, size=4,
               value_size=None, form="rows", has_bias=False, mask=None, added=None,
               past=None, is_causal=False, scale=0.0, filter_value=-10000.0,
               is_recorded=True):
    """`form` of keys and values: rows, pairs, triples (with the queries) or cache;
    `added`: batches and heads of the attention bias."""
    n = Numbers(seed, name)
    keys = length if keys is None else keys
    value_size = value_size or size
    total = keys + (past or 0)
    sizes = (size, size, value_size)
    raw = [n.floats(batch, rows, heads * width, low=-2, high=2)
           for rows, width in zip((length, keys, keys), sizes)]
    bias = n.floats(sum(heads * width for width in sizes)) if has_bias else None
    parts, offset = [], 0
    for tensor, width, is_cache in zip(raw, sizes, (False, form == "cache",
                                                    form == "cache")):
        part = [[[take(tensor, (b, s), h * width, width)
                  for s in range(tensor.shape[1])] for h in range(heads)]
                for b in range(batch)]
        if bias and not is_cache:
            for of_batch in part:
                for h, rows in enumerate(of_batch):
                    for row in rows:
                        for d in range(width):
                            row[d] += bias.at(offset + h * width + d)
        offset += heads * width
        parts.append(part)
    query, key, value = raw
    def join(which, rows):
        return [x for b, s, h in places(batch, rows, heads) for i in which
                for x in take(raw[i], (b, s), h * size, size)]
    if form == "pairs":
        key = Tensor(graph.FLOAT, [batch, keys, heads, 2, size], join((1, 2), keys))
        value = None
    elif form == "triples":
        query = Tensor(graph.FLOAT, [batch, length, heads, 3, size],
                       join((0, 1, 2), length))
        key = value = None
    elif form == "cache":
        key, value = (
            Tensor(graph.FLOAT, [batch, heads, keys, width],
                   [x for b, h, j in places(batch, heads, keys)
                    for x in take(raw[i], (b, j), h * width, width)])
            for i, width in ((1, size), (2, value_size)))
    before = [None, None]
    if past is not None:
        before = [n.floats(batch, heads, past, width)
                  for width in (size, value_size)]
        for b, h in places(batch, heads):
            for part, tensor, width in zip(parts[1:], before, sizes[1:]):
                part[b][h] = [take(tensor, (b, h, j), 0, width)
                              for j in range(past)] + part[b][h]
    masked, mask_of = make_mask(n, mask, batch, length, total, filter_value)
    extra = n.floats(*added, length, total) if added else None
    result = plain(*parts, size, value_size, scale,
                   (past or 0) if is_causal else None, mask_of,
                   lambda b, h, s, j: extra.at(b, h, s, j) if extra else 0)
    outputs = [Tensor(graph.FLOAT, [batch, length, heads * value_size], result)]
    if past is not None:
        outputs += [Tensor(graph.FLOAT, [batch, heads, total, width],
                           [x for b, h in places(batch, heads)
                            for row in part[b][h] for x in row])
                    for part, width in zip(parts[1:], sizes[1:])]
    attributes = {"num_heads": heads}
    for key_name, given, default in (("scale", scale, 0.0),
                                     ("mask_filter_value", filter_value, -10000.0),
                                     ("unidirectional", int(is_causal), 0)):
        if given != default:
            attributes[key_name] = given
    return Case(name, "MultiHeadAttention", [
        ("query", query), ("key", key), ("value", value), ("bias", bias),
        ("key_padding_mask", masked), ("attention_bias", extra),
        ("past_key", before[0]), ("past_value", before[1]),
    ], outputs, attributes, mask_tolerance(mask, filter_value), is_recorded)


def multi_head_cases(seed):
    def make(name, **options):
        return multi_head(seed, "multi_head_" + name, **options)

    yield make("self")
    yield make("cross", keys=5)
    yield make("value_size", keys=5, value_size=6)
    yield make("bias", has_bias=True, keys=4)
    yield make("bias_value_size", has_bias=True, keys=4, value_size=5)
    # ONNX Runtime has these for GPUs only.
    yield make("pairs", form="pairs", keys=5, is_recorded=False)
    yield make("triples", form="triples", length=4, is_recorded=False)
    yield make("cache", form="cache", keys=5)
    yield make("cache_bias", form="cache", keys=5, has_bias=True)
    yield make("ends", mask="ends", keys=5)
    yield make("sums", mask="sums", is_recorded=False)
    yield make("keys", mask="keys", keys=5)
    yield make("keys_filter", mask="keys", keys=5, filter_value=-3.0)
    yield make("mask_of_pairs", mask="pairs", keys=5)
    yield make("mask_behind_past", mask="keys", past=2)
    yield make("added", added=(2, 3), keys=4)
    yield make("added_to_all", added=(1, 1), keys=4)
    yield make("added_mask", added=(1, 3), keys=5, mask="keys")
    yield make("past", past=4, length=1)
    yield make("past_bias", past=4, length=2, has_bias=True)
    yield make("causal", is_causal=True, length=5)
    yield make("causal_past", is_causal=True, length=3, past=2)
    yield make("scale", scale=0.3)
    yield make("one_row", batch=1, length=1, heads=1, size=5)


# Attention ----------------------------------------------------------------------

def attention(seed, name, *, batch=2, length=3, width=5, heads=2, size=4,
              value_size=None, has_bias=True, mask=None, added=None, past=None,
              is_causal=False, scale=0.0, filter_value=-10000.0, is_recorded=True):
    n = Numbers(seed, name)
    sizes = (size, size, value_size or size)
    columns = heads * sum(sizes)
    total = length + (past or 0)
    x = n.floats(batch, length, width)
    matrix = weight(n.floats(width, columns))
    bias = weight(n.floats(columns)) if has_bias else None
    parts, offset = [], 0
    for of_part in sizes:
        parts.append([[[[sum(x.at(b, s, i) * matrix.at(i, offset + h * of_part + d)
                             for i in range(width))
                         + (bias.at(offset + h * of_part + d) if bias else 0)
                         for d in range(of_part)] for s in range(length)]
                       for h in range(heads)] for b in range(batch)])
        offset += heads * of_part
    before = None
    if past is not None:
        before = n.floats(2, batch, heads, past, size)
        for i, b, h in places(2, batch, heads):
            parts[1 + i][b][h] = [take(before, (i, b, h, j), 0, size)
                                  for j in range(past)] + parts[1 + i][b][h]
    masked, mask_of = make_mask(n, mask, batch, length, total, filter_value)
    extra = n.floats(*added, length, total) if added else None
    result = plain(*parts, size, sizes[2], scale,
                   (past or 0) if is_causal else None, mask_of,
                   lambda b, h, s, j: extra.at(b, h, s, j) if extra else 0)
    outputs = [Tensor(graph.FLOAT, [batch, length, heads * sizes[2]], result)]
    if past is not None:
        outputs.append(Tensor(graph.FLOAT, [2, batch, heads, total, size],
                              [e for i, b, h in places(2, batch, heads)
                               for row in parts[1 + i][b][h] for e in row]))
    attributes = {"num_heads": heads}
    if value_size:
        attributes["qkv_hidden_sizes"] = [heads * one for one in sizes]
    for key_name, given, default in (("scale", scale, 0.0),
                                     ("mask_filter_value", filter_value, -10000.0),
                                     ("unidirectional", int(is_causal), 0)):
        if given != default:
            attributes[key_name] = given
    return Case(name, "Attention", [
        ("input", x), ("weights", matrix), ("bias", bias), ("mask_index", masked),
        ("past", before), ("attention_bias", extra)], outputs, attributes,
        mask_tolerance(mask, filter_value), is_recorded)


def attention_cases(seed):
    def make(name, **options):
        return attention(seed, "attention_" + name, **options)

    yield make("plain")
    yield make("no_bias", has_bias=False)
    yield make("value_size", value_size=3)
    yield make("ends", mask="ends", length=5)
    yield make("spans", mask="spans", length=5)
    yield make("sums", mask="sums", length=4)
    yield make("keys", mask="keys", length=4)
    yield make("keys_filter", mask="keys", length=4, filter_value=-2.0)
    yield make("pairs", mask="pairs", length=4)
    # ONNX Runtime has it for GPUs only.
    yield make("square", mask="square", length=4, is_recorded=False)
    yield make("causal", is_causal=True, length=5)
    yield make("causal_keys", is_causal=True, length=4, mask="keys")
    yield make("past", past=3, length=2)
    yield make("past_causal_keys", past=3, length=2, mask="keys", is_causal=True)
    yield make("added", added=(2, 2), length=4)
    yield make("added_keys", added=(1, 1), length=4, mask="keys")
    yield make("scale", scale=0.25)
    yield make("odd", batch=1, length=1, width=3, heads=3, size=5)


# PackedMultiHeadAttention -------------------------------------------------------

def packed_multi_head(seed, name, *, lengths, heads=2, size=4, value_size=None,
                      is_packed=False, has_bias=False, scale=0.0, added=None):
    """ONNX Runtime has it for GPUs only."""
    n = Numbers(seed, name)
    sizes = (size, size, value_size or size)
    tokens, most = sum(lengths), max(lengths)
    raw = [n.floats(tokens, heads * width, low=-2, high=2) for width in sizes]
    bias = n.floats(heads * sum(sizes)) if has_bias else None
    extra = n.floats(*added, most, most) if added else None
    offset, result, start = (0, heads * size, 2 * heads * size), [], 0
    def read(part, row, h):
        width = sizes[part]
        x = take(raw[part], (row,), h * width, width)
        return [a + (bias.at(offset[part] + h * width + d) if bias else 0)
                for d, a in enumerate(x)]
    for b, length in enumerate(lengths):
        for s, h in places(length, heads):
            scores = [product(read(0, start + s, h), read(1, start + j, h))
                      * (scale or 1 / math.sqrt(size))
                      + (extra.at(b, h, s, j) if extra else 0)
                      for j in range(length)]
            result += soften(scores, [read(2, start + j, h)
                                      for j in range(length)], sizes[2])
        start += length
    # Places of tokens in the padded batch, then those of padding.
    real = [b * most + s for b, length in enumerate(lengths) for s in range(length)]
    places_of = real + [i for i in range(len(lengths) * most) if i not in real]
    sums = [sum(lengths[:b]) for b in range(len(lengths) + 1)]
    query, key, value = raw
    if is_packed:
        query = Tensor(graph.FLOAT, [tokens, heads, 3, size],
                       [x for row, h, i in places(tokens, heads, 3)
                        for x in take(raw[i], (row,), h * size, size)])
        key = value = None
    return Case(name, "PackedMultiHeadAttention", [
        ("query", query), ("key", key), ("value", value), ("bias", bias),
        ("token_offset", Tensor(graph.INT32, [len(lengths), most], places_of)),
        ("cumulative_sequence_length", Tensor(graph.INT32, [len(sums)], sums)),
        ("attention_bias", extra)],
        [Tensor(graph.FLOAT, [tokens, heads * sizes[2]], result)],
        {"num_heads": heads, **({"scale": scale} if scale else {})},
        is_recorded=False)


def packed_multi_head_cases(seed):
    def make(name, **options):
        return packed_multi_head(seed, "packed_multi_head_" + name, **options)

    yield make("plain", lengths=[1, 2, 4])
    yield make("triples", lengths=[3, 2], is_packed=True)
    yield make("triples_bias", lengths=[3, 2], is_packed=True, has_bias=True)
    yield make("bias_value_size", lengths=[2, 5], has_bias=True, value_size=3)
    yield make("scale", lengths=[4, 1], scale=0.2)
    yield make("added", lengths=[3, 1, 4], added=(3, 2))
    yield make("added_to_all", lengths=[3, 2], added=(1, 1))


def cases(seed):
    yield from group_query_cases(seed)
    yield from multi_head_cases(seed)
    yield from attention_cases(seed)
    yield from packed_multi_head_cases(seed)
