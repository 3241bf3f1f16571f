#!/usr/bin/env python3
"""Decoding of a Llama shape in PyTorch: the peer of bench/gpu/compare.py.

    bench/gpu/pytorch_decode.py CONFIG --sequences B --context N [--steps S]

One token of B sequences at a time over a static KV cache, bf16, random weights.
A layer is compiled once by torch.compile (coordinate descent tuning for one
sequence, where Inductor then writes its own matrix-vector kernels; cuBLAS for
more) and the whole step is one CUDA graph. Prints one JSON object: the median
time of a step, tokens/s, seconds until the graph was captured, peak memory.
"""

import argparse
import json
import math
import statistics
import time

START = time.monotonic()

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

# What the mask of a step leaves out; the cache has room for it.
ROOM = 128


class Layer:
    def __init__(self, config, batch, context):
        hidden, size = config["hidden_size"], config["intermediate_size"]
        self.heads = config["num_attention_heads"]
        self.kv_heads = config["num_key_value_heads"]
        self.dim = config.get("head_dim") or hidden // self.heads
        self.epsilon = config["rms_norm_eps"]

        def weight(rows, columns):
            return torch.randn(rows, columns, device="cuda",
                               dtype=torch.bfloat16) / math.sqrt(columns)

        self.qkv = weight((self.heads + 2 * self.kv_heads) * self.dim, hidden)
        self.out = weight(hidden, self.heads * self.dim)
        self.gate_up = weight(2 * size, hidden)
        self.down = weight(hidden, size)
        self.norm1 = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
        self.norm2 = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
        shape = (batch, self.kv_heads, context + ROOM, self.dim)
        self.keys = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
        self.values = torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def tensors(self):
        return (self.qkv, self.out, self.gate_up, self.down, self.norm1,
                self.norm2, self.keys, self.values)


def rms_norm(x, weight, epsilon):
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + epsilon)
    return y.to(x.dtype) * weight


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine,
                      second * cosine + first * sine), dim=-1)


def make_layer_function(heads, kv_heads, dim, epsilon):
    def before(x, qkv, norm1, keys, values, cosine, sine, position):
        batch = x.shape[0]
        h = F.linear(rms_norm(x, norm1, epsilon), qkv)
        h = h.view(batch, heads + 2 * kv_heads, dim)
        query, key, value = h.split((heads, kv_heads, kv_heads), dim=1)
        query, key = rotate(query, cosine, sine), rotate(key, cosine, sine)
        keys.index_copy_(2, position, key.unsqueeze(2))
        values.index_copy_(2, position, value.unsqueeze(2))
        return query.unsqueeze(2)

    def after(x, attended, out, gate_up, down, norm2):
        x = x + F.linear(attended.reshape(x.shape[0], heads * dim), out)
        gate, up = F.linear(rms_norm(x, norm2, epsilon), gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, down)

    return before, after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", help="config.json of the shape")
    parser.add_argument("--sequences", type=int, default=1)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    with open(options.config) as file:
        config = json.load(file)
    batch, context = options.sequences, options.context
    torch._inductor.config.coordinate_descent_tuning = batch == 1

    layers = [Layer(config, batch, context)
              for _ in range(config["num_hidden_layers"])]
    one = layers[0]
    before, after = make_layer_function(one.heads, one.kv_heads, one.dim,
                                        one.epsilon)
    before = torch.compile(before, fullgraph=True, dynamic=False)
    after = torch.compile(after, fullgraph=True, dynamic=False)

    @torch.compile(fullgraph=True, dynamic=False)
    def head(x, norm, weight):
        return F.linear(rms_norm(x, norm, one.epsilon), weight).argmax(-1)

    hidden = config["hidden_size"]
    embedding = torch.randn(config["vocab_size"], hidden, device="cuda",
                            dtype=torch.bfloat16)
    output = embedding if config.get("tie_word_embeddings") else torch.randn_like(
        embedding)
    norm = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
    tokens = torch.zeros(batch, device="cuda", dtype=torch.long)
    position = torch.full((1,), context, device="cuda", dtype=torch.long)
    mask = torch.zeros(batch, 1, 1, context + ROOM, device="cuda",
                       dtype=torch.bfloat16)
    mask[..., context + 1:] = -math.inf
    angles = torch.randn(1, one.dim // 2, device="cuda")
    cosine = angles.cos().to(torch.bfloat16)
    sine = angles.sin().to(torch.bfloat16)

    def step():
        x = embedding[tokens]
        for layer in layers:
            query = before(x, layer.qkv, layer.norm1, layer.keys, layer.values,
                           cosine, sine, position)
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION,
                              SDPBackend.EFFICIENT_ATTENTION]):
                attended = F.scaled_dot_product_attention(
                    query, layer.keys, layer.values, attn_mask=mask,
                    enable_gqa=True)
            x = after(x, attended, layer.out, layer.gate_up, layer.down,
                      layer.norm2)
        tokens.copy_(head(x, norm, output))

    with torch.inference_mode():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        torch.cuda.synchronize()
        ready = time.monotonic() - START
        times = []
        for _ in range(options.steps):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
    median = statistics.median(times)
    print(json.dumps({"ms": median, "tokens_per_second": batch * 1000 / median,
                      "seconds_to_first_step": ready,
                      "peak_bytes": torch.cuda.max_memory_allocated(),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
