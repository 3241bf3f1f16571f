#!/usr/bin/env python3
"""Writes a GGUF file with random weights of a Llama-shaped config.

For comparing speed with llama.cpp (bench/cpu/compare.py): the values do not
matter, the shapes and the type do. Needs numpy and the gguf package.
"""

import argparse
import json

import gguf
import numpy as np


def write(config, dtype, path, seed=0):
    """config: the dict of a Hugging Face config.json; dtype: f32, f16, bf16."""
    hidden = config["hidden_size"]
    heads = config["num_attention_heads"]
    kv_heads = config["num_key_value_heads"]
    head_size = config.get("head_dim") or hidden // heads
    inner = config["intermediate_size"]
    layers = config["num_hidden_layers"]
    vocab = config["vocab_size"]

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_size)
    writer.add_value_length(head_size)
    writer.add_rope_dimension_count(head_size)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(vocab)
    writer.add_tokenizer_model("none")

    generator = np.random.default_rng(seed)
    def matrix(name, rows, columns):
        # One random block, repeated: quick, and as incompressible to a
        # matrix multiplication as any other data.
        block = generator.standard_normal((min(rows, 512), columns)) * 0.02
        repeats = -(-rows // len(block))
        data = np.tile(block, (repeats, 1))[:rows].astype(np.float32)
        if dtype == "f16":
            writer.add_tensor(name, data.astype(np.float16))
        elif dtype == "bf16":
            bits = (data.view(np.uint32) >> 16).astype(np.uint16)
            writer.add_tensor(name, bits.view(np.uint8),
                              raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, data)

    def norm(name):
        writer.add_tensor(name, np.ones(hidden, dtype=np.float32))

    matrix("token_embd.weight", vocab, hidden)
    for layer in range(layers):
        prefix = f"blk.{layer}."
        norm(prefix + "attn_norm.weight")
        matrix(prefix + "attn_q.weight", heads * head_size, hidden)
        matrix(prefix + "attn_k.weight", kv_heads * head_size, hidden)
        matrix(prefix + "attn_v.weight", kv_heads * head_size, hidden)
        matrix(prefix + "attn_output.weight", hidden, heads * head_size)
        norm(prefix + "ffn_norm.weight")
        matrix(prefix + "ffn_gate.weight", inner, hidden)
        matrix(prefix + "ffn_up.weight", inner, hidden)
        matrix(prefix + "ffn_down.weight", hidden, inner)
    norm("output_norm.weight")
    if not config.get("tie_word_embeddings"):
        matrix("output.weight", vocab, hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", help="a Hugging Face config.json")
    parser.add_argument("dtype", choices=["f32", "f16", "bf16"])
    parser.add_argument("output", help="the .gguf file to write")
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        write(json.load(file), arguments.dtype, arguments.output)


if __name__ == "__main__":
    main()
