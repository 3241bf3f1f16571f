#!/usr/bin/env python3
"""Converts stories260K from the llama2.c formats into a Hugging Face folder.

usage: convert-stories260k.py stories260K.bin tok512.bin OUTPUT_FOLDER

stories260K.bin is a llama2.c "legacy" checkpoint: seven int32 (dim, hidden
dim, layers, heads, key/value heads, vocabulary, context; a positive
vocabulary means that the output layer is the embedding), then float32 tensors.
tok512.bin is a llama2.c tokenizer: int32 longest token, then for each token a
float32 score, an int32 length and the bytes.

Two things change on the way:
* llama2.c rotates neighbouring rows (2j, 2j+1) of the query and key; Hugging
  Face rotates rows j and j + head_size/2. The rows of wq and wk are permuted.
* llama2.c merges the pair whose result has the best score; a tokenizer.json
  has a ranked list of pairs. Each token contributes all its splits into two
  tokens, ranked by the token's score.

Only the Python standard library is used.
"""

import array
import json
import pathlib
import struct
import sys

BYTE_TOKENS = range(3, 259)  # <0x00> .. <0xFF>
SPECIAL_TOKENS = ["<unk>", "<s>", "</s>"]


def read_checkpoint(path):
    data = path.read_bytes()
    names = ["dim", "hidden", "layers", "heads", "kv_heads", "vocab", "context"]
    config = dict(zip(names, struct.unpack_from("<7i", data)))
    if config["vocab"] <= 0:
        sys.exit(f"{path}: vocabulary {config['vocab']}: only tied checkpoints are converted")
    floats = array.array("f", data[28:])
    if sys.byteorder == "big":
        floats.byteswap()
    dim, hidden, layers = config["dim"], config["hidden"], config["layers"]
    head = dim // config["heads"]
    kv = head * config["kv_heads"]
    at = 0

    def take(rows, columns=1):
        nonlocal at
        at += rows * columns
        return floats[at - rows * columns:at]

    def take_layers(rows, columns=1):
        return [take(rows, columns) for _ in range(layers)]

    tensors = {
        "embedding": take(config["vocab"], dim),
        "attention_norm": take_layers(dim),
        "wq": take_layers(dim, dim),
        "wk": take_layers(kv, dim),
        "wv": take_layers(kv, dim),
        "wo": take_layers(dim, dim),
        "mlp_norm": take_layers(dim),
        "w1": take_layers(hidden, dim),
        "w2": take_layers(dim, hidden),
        "w3": take_layers(hidden, dim),
        "final_norm": take(dim),
    }
    at += config["context"] * head  # the two RoPE tables; they are recomputed
    if at != len(floats):
        sys.exit(f"{path}: {len(floats)} floats found, {at} expected from its header")
    return config, tensors


def split_halves(weight, heads, head, columns):
    """Row 2j + h of each head (h = 0, 1) becomes row j + h * head/2."""
    result = array.array("f")
    for first in range(0, heads * head, head):
        for half in range(2):
            for j in range(head // 2):
                row = first + 2 * j + half
                result.extend(weight[row * columns:(row + 1) * columns])
    return result


def write_safetensors(path, config, tensors):
    dim, hidden = config["dim"], config["hidden"]
    head = dim // config["heads"]
    kv = head * config["kv_heads"]
    entries = [("model.embed_tokens.weight", [config["vocab"], dim], tensors["embedding"])]
    for layer in range(config["layers"]):
        prefix = f"model.layers.{layer}."
        get = lambda name: tensors[name][layer]
        entries += [
            (prefix + "input_layernorm.weight", [dim], get("attention_norm")),
            (prefix + "self_attn.q_proj.weight", [dim, dim],
             split_halves(get("wq"), config["heads"], head, dim)),
            (prefix + "self_attn.k_proj.weight", [kv, dim],
             split_halves(get("wk"), config["kv_heads"], head, dim)),
            (prefix + "self_attn.v_proj.weight", [kv, dim], get("wv")),
            (prefix + "self_attn.o_proj.weight", [dim, dim], get("wo")),
            (prefix + "post_attention_layernorm.weight", [dim], get("mlp_norm")),
            (prefix + "mlp.gate_proj.weight", [hidden, dim], get("w1")),
            (prefix + "mlp.up_proj.weight", [hidden, dim], get("w3")),
            (prefix + "mlp.down_proj.weight", [dim, hidden], get("w2")),
        ]
    entries.append(("model.norm.weight", [dim], tensors["final_norm"]))
    header, body = {"__metadata__": {"format": "pt"}}, bytearray()
    for name, shape, values in entries:
        if sys.byteorder == "big":
            values.byteswap()
        begin = len(body)
        body += values.tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(body)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def read_tokens(path, count):
    data = path.read_bytes()
    at, tokens, scores = 4, [], []
    for _ in range(count):
        score, length = struct.unpack_from("<fi", data, at)
        tokens.append(data[at + 8:at + 8 + length])
        scores.append(score)
        at += 8 + length
    if at != len(data):
        sys.exit(f"{path}: {len(data)} bytes found, {at} expected for {count} tokens")
    # llama2.c stores the control tokens as "\n<s>\n" and the space as itself.
    texts = [t.decode().replace(" ", "\u2581") for t in tokens]
    for index, name in enumerate(SPECIAL_TOKENS):
        if texts[index].strip() != name:
            sys.exit(f"{path}: token {index} is {tokens[index]!r}, expected {name}")
        texts[index] = name
    return texts, scores


def make_merges(texts, scores):
    known = {text: index for index, text in enumerate(texts)}
    if len(known) != len(texts):
        sys.exit("the vocabulary has equal tokens")
    atoms = set(SPECIAL_TOKENS) | {texts[i] for i in BYTE_TOKENS}
    order = sorted((i for i, t in enumerate(texts) if t not in atoms and len(t) > 1),
                   key=lambda i: -scores[i])
    merges = []
    for index in order:
        text = texts[index]
        for cut in range(1, len(text)):
            if text[:cut] in known and text[cut:] in known:
                merges.append([text[:cut], text[cut:]])
    return merges


def make_tokenizer(texts, scores):
    special = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for i, t in enumerate(SPECIAL_TOKENS)]
    bos = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [bos, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [bos, {"Sequence": {"id": "A", "type_id": 0}},
                     {"SpecialToken": {"id": "<s>", "type_id": 1}},
                     {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": {t: i for i, t in enumerate(texts)},
            "merges": make_merges(texts, scores)},
    }


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    checkpoint, tokenizer, folder = map(pathlib.Path, sys.argv[1:])
    config, tensors = read_checkpoint(checkpoint)
    texts, scores = read_tokens(tokenizer, config["vocab"])
    folder.mkdir(parents=True, exist_ok=True)

    def write_json(name, value):
        text = json.dumps(value, indent=2, ensure_ascii=False)
        (folder / name).write_text(text + "\n", encoding="utf-8")

    write_safetensors(folder / "model.safetensors", config, tensors)
    write_json("config.json", {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "head_dim": config["dim"] // config["heads"],
        "hidden_act": "silu",
        "hidden_size": config["dim"],
        "intermediate_size": config["hidden"],
        "max_position_embeddings": config["context"],
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": config["heads"],
        "num_hidden_layers": config["layers"],
        "num_key_value_heads": config["kv_heads"],
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "vocab_size": config["vocab"],
    })
    # The model was trained on stories joined by <s>: that ends a story.
    write_json("generation_config.json", {
        "bos_token_id": 1,
        "eos_token_id": [1, 2],
        "max_length": config["context"],
    })
    write_json("tokenizer.json", make_tokenizer(texts, scores))
    write_json("tokenizer_config.json", {
        "add_bos_token": True,
        "add_eos_token": False,
        "bos_token": "<s>",
        "clean_up_tokenization_spaces": False,
        "eos_token": "</s>",
        "model_max_length": config["context"],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": "<unk>",
    })


if __name__ == "__main__":
    main()
