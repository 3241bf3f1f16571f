"""Cases of MatMulNBits, MatMulBnb4, GatherBlockQuantized, DynamicQuantizeMatMul and
MatMulIntegerToFloat."""

import graph
from case import Case, Numbers, Tensor, places, store, weight


def pack(rows, bits):
    """Bytes of rows of numbers of few bits: the first in the lowest bits, each row
    begins with a byte."""
    per, result = 8 // bits, []
    for row in rows:
        row = list(row) + [0] * (-len(row) % per)
        result += [sum(x << bits * i for i, x in enumerate(row[at:at + per]))
                   for at in range(0, len(row), per)]
    return result


def ceil(a, b):
    return -(-a // b)


# MatMulNBits --------------------------------------------------------------------

def matmul_n_bits(seed, name, *, rows=(3,), inputs=32, outputs=5, block=16, bits=4,
                  zeros=None, has_bias=False, type_=graph.FLOAT, is_flat=False,
                  accuracy=0, tolerance=1e-5, is_recorded=True):
    """`zeros`: None, packed or numbers; `is_flat`: scales in one dimension."""
    n = Numbers(seed, name)
    blocks = ceil(inputs, block)
    x = n.floats(*rows, inputs, type_=type_)
    codes = [[n.random.randrange(1 << bits) for _ in range(blocks * block)]
             for _ in range(outputs)]
    scales = weight(n.floats(outputs, blocks, type_=type_, low=0.05, high=0.2))
    middle = float(1 << bits - 1)
    zero, zero_of = None, lambda row, at: middle
    if zeros == "packed":
        points = [[n.random.randrange(1 << bits) for _ in range(blocks)]
                  for _ in range(outputs)]
        zero = weight(Tensor(graph.UINT8, [outputs, ceil(blocks * bits, 8)],
                             pack(points, bits)))
        zero_of = lambda row, at: points[row][at]
    elif zeros == "numbers":
        zero = weight(n.floats(outputs, blocks, type_=type_, low=0,
                               high=(1 << bits) - 1))
        zero_of = zero.at
    bias = weight(n.floats(outputs, type_=type_)) if has_bias else None
    matrix = [[(codes[j][k] - zero_of(j, k // block)) * scales.at(j, k // block)
               for k in range(inputs)] for j in range(outputs)]
    result = [sum(x.at(*place, k) * matrix[j][k] for k in range(inputs))
              + (bias.at(j) if bias else 0)
              for place in places(*rows) for j in range(outputs)]
    if is_flat:
        for tensor in (scales, zero):
            if tensor:
                tensor.shape = tensor.symbols = [len(tensor.values)]
    attributes = {"K": inputs, "N": outputs, "bits": bits, "block_size": block}
    if accuracy:
        attributes["accuracy_level"] = accuracy
    return Case(name, "MatMulNBits", [
        ("A", x), ("B", weight(Tensor(graph.UINT8, [outputs, blocks,
                                                    block * bits // 8],
                                      pack(codes, bits)))),
        ("scales", scales), ("zero_points", zero), ("g_idx", None), ("bias", bias)],
        [Tensor(type_, [*rows, outputs], result)], attributes, tolerance, is_recorded)


def matmul_n_bits_cases(seed):
    def make(name, **options):
        return matmul_n_bits(seed, "matmul_n_bits_" + name, **options)

    yield make("plain")
    yield make("zeros", zeros="packed", inputs=64)
    yield make("zeros_odd_blocks", zeros="packed", inputs=48)
    yield make("zeros_numbers", zeros="numbers", inputs=48)
    yield make("part_of_block", inputs=39, zeros="packed")
    yield make("less_than_block", inputs=7, block=32)
    yield make("bias", has_bias=True, rows=(2, 3))
    yield make("one_row", rows=(1,), outputs=1)
    yield make("flat", inputs=48, is_flat=True, zeros="packed")
    yield make("blocks_of_32", inputs=96, block=32, outputs=7)
    yield make("8_bits", bits=8, zeros="packed", inputs=40)
    yield make("8_bits_middle", bits=8)
    yield make("2_bits", bits=2, inputs=48)
    yield make("2_bits_zeros", bits=2, zeros="packed", inputs=80)
    yield make("half", type_=graph.FLOAT16, tolerance=4e-3)
    # Activations may be rounded then, and are not.
    yield make("accuracy", accuracy=4, is_recorded=False)


# MatMulBnb4 ---------------------------------------------------------------------

# The data types of bitsandbytes. NF4: Dettmers et al., QLoRA (2023), appendix E.
# FP4: a sign, two bits of exponent and one of mantissa, divided by the largest, 12.
FP4 = [x / 12 for x in (0.0, 0.0625, 8, 12, 4, 6, 2, 3)]
FP4 += [-x for x in FP4]
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
       -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
       0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
       0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
       0.7229568362236023, 1.0]


def matmul_bnb4(seed, name, *, rows=(3,), inputs=32, outputs=5, block=16,
                is_normal=True):
    n = Numbers(seed, name)
    count = inputs * outputs
    codes = [n.random.randrange(16) for _ in range(count)]
    padded = codes + [0] * (count % 2)
    absmax = weight(n.floats(ceil(count, block), low=0.1, high=1.0))
    numbers = NF4 if is_normal else FP4
    matrix = [numbers[code] * absmax.values[i // block]
              for i, code in enumerate(codes)]
    x = n.floats(*rows, inputs)
    result = [sum(x.at(*place, k) * matrix[j * inputs + k] for k in range(inputs))
              for place in places(*rows) for j in range(outputs)]
    return Case(name, "MatMulBnb4", [
        ("A", x),
        ("B", weight(Tensor(graph.UINT8, [len(padded) // 2],
                            [a << 4 | b for a, b in zip(padded[::2],
                                                        padded[1::2])]))),
        ("absmax", absmax)],
        [Tensor(graph.FLOAT, [*rows, outputs], result)],
        {"K": inputs, "N": outputs, "block_size": block,
         "quant_type": int(is_normal)})


def matmul_bnb4_cases(seed):
    def make(name, **options):
        return matmul_bnb4(seed, "matmul_bnb4_" + name, **options)

    yield make("normal")
    yield make("fp4", is_normal=False)
    yield make("rows", rows=(2, 3), inputs=64, block=32)
    yield make("block_over_rows", inputs=24, outputs=4)
    yield make("odd_count", inputs=15, outputs=3)


# GatherBlockQuantized -----------------------------------------------------------

def gather(seed, name, *, data=(5, 32), indices=(3,), axis=0, quantized=1, block=16,
           bits=4, type_=graph.UINT8, has_zeros=False, outside=False,
           index_type=graph.INT64, scale_type=graph.FLOAT, is_recorded=True):
    """`data`: the shape of elements; bytes hold several of the last dimension."""
    n = Numbers(seed, name)
    rank = len(data)
    low, high = (-8, 8) if type_ == graph.INT4 else (0, 1 << bits)
    elements = n.integers(type_, low, high, *data)
    blocks = [ceil(size, block) if dim == quantized % rank else size
              for dim, size in enumerate(data)]
    scales = weight(n.floats(*blocks, type_=scale_type, low=0.1, high=0.5))
    zero = n.integers(type_, low, high, *blocks) if has_zeros else None
    middle = 1 << bits - 1 if type_ == graph.UINT8 else 0
    axis_at = axis % rank
    rows = data[axis_at]
    picked = n.integers(index_type, -rows, rows, *indices)
    if outside:
        picked.values[0] = rows
        picked.values[-1] = -rows - 1
    result, shape = [], [*data[:axis_at], *indices, *data[axis_at + 1:]]
    for place in places(*shape):
        row = picked.at(*place[axis_at:axis_at + len(indices)])
        if not -rows <= row < rows:
            result.append(0.0)
            continue
        at = [*place[:axis_at], row % rows, *place[axis_at + len(indices):]]
        of_block = [i // block if dim == quantized % rank else i
                    for dim, i in enumerate(at)]
        point = zero.at(*of_block) if zero else middle
        result.append((elements.at(*at) - point) * scales.at(*of_block))
    def as_bytes(tensor):
        if tensor is None or type_ != graph.UINT8 or bits == 8:
            return tensor
        width = tensor.shape[-1]
        split = [tensor.values[i:i + width]
                 for i in range(0, len(tensor.values), width)]
        return Tensor(type_, [*tensor.shape[:-1], ceil(width * bits, 8)],
                      pack(split, bits))
    return Case(name, "GatherBlockQuantized", [
        ("data", weight(as_bytes(elements))), ("indices", picked),
        ("scales", scales), ("zero_points", weight(as_bytes(zero)) if zero else None)],
        [Tensor(scale_type, shape, result)],
        {"gather_axis": axis, "quantize_axis": quantized, "block_size": block,
         **({"bits": bits} if bits != 4 else {})},
        4e-3 if scale_type == graph.FLOAT16 else 1e-5, is_recorded)


def gather_cases(seed):
    def make(name, **options):
        return gather(seed, "gather_" + name, **options)

    yield make("bytes")
    yield make("bytes_zeros", has_zeros=True, data=(5, 64))
    yield make("bytes_zeros_odd_blocks", has_zeros=True, data=(4, 48))
    yield make("bytes_8", bits=8, has_zeros=True)
    yield make("bytes_8_middle", bits=8)
    yield make("bytes_2", bits=2, has_zeros=True, data=(3, 64))
    yield make("outside", outside=True, indices=(4,))
    yield make("indices_of_ranks", indices=(2, 3))
    yield make("one_index", indices=())
    yield make("index_type", index_type=graph.INT32, indices=(1, 2))
    yield make("part_of_block", data=(4, 20), has_zeros=True)
    yield make("signed", type_=graph.INT4, has_zeros=True)
    yield make("signed_middle", type_=graph.INT4)
    yield make("unsigned", type_=graph.UINT4, has_zeros=True)
    yield make("unsigned_middle", type_=graph.UINT4)
    yield make("other_axes", type_=graph.INT4, data=(18, 3, 4), axis=2, quantized=0,
               has_zeros=True)
    yield make("negative_axes", type_=graph.UINT4, data=(2, 5, 17), axis=-2,
               quantized=-1, has_zeros=True)
    yield make("half", scale_type=graph.FLOAT16)


# Products of integers -----------------------------------------------------------

def round_even(x):
    return float(round(x))


def quantize(values):
    """The rule of DynamicQuantizeLinear, in numbers of 32 bits."""
    low, high = min(0.0, *values), max(0.0, *values)
    scale = store(graph.FLOAT, [(high - low) / 255])[0]
    zero = min(max(round_even(-low / scale), 0), 255) if scale else 0
    return [min(max(round_even(x / scale) + zero, 0), 255) if scale else zero
            for x in values], scale, zero


def dynamic(seed, name, *, rows=(3,), inputs=6, outputs=4, type_=graph.INT8,
            has_zeros=False, by_column=False, has_bias=False):
    n = Numbers(seed, name)
    low, high = (-128, 128) if type_ == graph.INT8 else (0, 256)
    # Numbers between the steps are rounded the same by all.
    x = n.floats(*rows, inputs, low=-2, high=3)
    matrix = weight(n.integers(type_, low, high, inputs, outputs))
    columns = [outputs] if by_column else []
    scale = weight(n.floats(*columns, low=0.01, high=0.05))
    zero = weight(n.integers(type_, low, high, *columns)) if has_zeros else None
    bias = weight(n.floats(outputs)) if has_bias else None
    codes, step, point = quantize(x.values)
    of_column = lambda tensor, j: tensor.values[j if by_column else 0]
    result = []
    for i in range(len(codes) // inputs):
        for j in range(outputs):
            total = sum((codes[i * inputs + k] - point)
                        * (matrix.at(k, j) - (of_column(zero, j) if zero else 0))
                        for k in range(inputs))
            result.append(total * step * of_column(scale, j)
                          + (bias.at(j) if bias else 0))
    return Case(name, "DynamicQuantizeMatMul", [
        ("A", x), ("B", matrix), ("b_scale", scale), ("b_zero_point", zero),
        ("bias", bias)], [Tensor(graph.FLOAT, [*rows, outputs], result)])


def integer(seed, name, *, rows=(3,), inputs=6, outputs=4, left=graph.UINT8,
            right=graph.INT8, has_left_zero=False, has_right_zero=False,
            by_column=False, has_bias=False):
    n = Numbers(seed, name)
    span = {graph.INT8: (-128, 128), graph.UINT8: (0, 256)}
    a = n.integers(left, *span[left], *rows, inputs)
    b = weight(n.integers(right, *span[right], inputs, outputs))
    columns = [outputs] if by_column else []
    steps = n.floats(low=0.01, high=0.05), n.floats(*columns, low=0.01, high=0.05)
    left_zero = n.integers(left, *span[left]) if has_left_zero else None
    right_zero = n.integers(right, *span[right], *columns) if has_right_zero else None
    bias = n.floats(outputs) if has_bias else None
    of_column = lambda tensor, j: tensor.values[j if by_column else 0]
    result = [sum((a.at(*place, k) - (left_zero.values[0] if left_zero else 0))
                  * (b.at(k, j) - (of_column(right_zero, j) if right_zero else 0))
                  for k in range(inputs))
              * steps[0].values[0] * of_column(steps[1], j)
              + (bias.at(j) if bias else 0)
              for place in places(*rows) for j in range(outputs)]
    return Case(name, "MatMulIntegerToFloat", [
        ("A", a), ("B", b), ("a_scale", steps[0]), ("b_scale", steps[1]),
        ("a_zero_point", left_zero), ("b_zero_point", right_zero), ("bias", bias)],
        [Tensor(graph.FLOAT, [*rows, outputs], result)])


def integer_cases(seed):
    def make(name, **options):
        return dynamic(seed, "dynamic_" + name, **options)

    yield make("plain")
    yield make("zero", has_zeros=True)
    yield make("columns", has_zeros=True, by_column=True)
    yield make("bytes_bias", type_=graph.UINT8, has_zeros=True, has_bias=True)
    yield make("rows", rows=(2, 3), inputs=5, outputs=3, has_bias=True)
    yield make("one", rows=(1,), inputs=1, outputs=1)

    def make(name, **options):
        return integer(seed, "integer_" + name, **options)

    yield make("plain")
    yield make("zeros", has_left_zero=True, has_right_zero=True)
    yield make("columns", has_left_zero=True, has_right_zero=True, by_column=True)
    yield make("scales_of_columns", by_column=True, has_bias=True)
    yield make("signed", left=graph.INT8, has_left_zero=True, has_bias=True)
    yield make("bytes", right=graph.UINT8, has_right_zero=True, rows=(2, 2))


def cases(seed):
    yield from matmul_n_bits_cases(seed)
    yield from matmul_bnb4_cases(seed)
    yield from gather_cases(seed)
    yield from integer_cases(seed)
