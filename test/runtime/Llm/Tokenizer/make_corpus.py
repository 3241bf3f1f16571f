#!/usr/bin/env python3
"""Makes the seeds of fuzz-tokenizer (TokenizerFuzz.cpp describes the format).

usage: make_corpus.py FOLDER    (needs the packages tokenizers and sentencepiece)
"""

import io
import json
import pathlib
import sys

import sentencepiece

import make_elements as elements

TEXT = "Hello <tok> w\u00f6rld's 12\u00bd\n\n \u2581\u6f22\u5b57\U0001f468\u200d\U0001f469 <ctl>Day"


def small_model():
    vocab = ["<unk>", *"abdehlorsw '\u2581\u0120\n1", "he", "ll", "hell", "o\u2581", "##lo"]
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": False, "ignore_merges": True,
            "vocab": {t: i for i, t in enumerate(vocab)}, "merges": ["h e", ["l", "l"], ["he", "ll"]]}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, kind, content):
        (folder / name).write_bytes(kind + content + b"\n===\n" + TEXT.encode())

    shared = {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": None,
              "post_processor": None, "decoder": None, "added_tokens": [], "model": small_model()}
    wanted = [("normalizer", elements.NORMALIZERS), ("pre_tokenizer", elements.PRE_TOKENIZERS),
              ("decoder", elements.DECODERS)]
    for key, table in wanted:
        for number, value in enumerate(table.values()):
            whole = elements.build(shared, {key: value, "added_tokens": [
                elements.added("<tok>", False, rstrip=True, normalized=True), elements.added("<ctl>", True)]})
            write(f"{key}-{number}", b"d", json.dumps(whole, ensure_ascii=False).encode())
    others = {
        "unigram": {"type": "Unigram", "unk_id": 0, "byte_fallback": False,
                    "vocab": [["<unk>", 0], ["he", -2.5], ["l", -3], ["llo", -1], [" ", -2]]},
        "wordpiece": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 9, "vocab": {"u": 0, "he": 1, "##l": 2, "##lo": 3}},
        "wordlevel": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "Hello": 1}}}
    for name, model in others.items():
        write(name, b"d", json.dumps(dict(shared, model=model, post_processor=elements.template(
            "[A]", "A", "[B]"))).encode())
    for kind in ("bpe", "unigram"):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["hello world"] * 20), model_writer=model, vocab_size=280 if kind == "bpe" else 270,
            model_type=kind, normalization_rule_name="identity", byte_fallback=True, minloglevel=2,
            hard_vocab_limit=False)
        write("sentencepiece-" + kind, b"e", model.getvalue())
    write("tiktoken", b"f", b"aGU= 0\nbGw= 1\n")
    write("config", b"g", b'{"bos_token":{"content":"u"},"eos_token":"u","add_bos_token":true,'
                          b'"added_tokens_decoder":{"1":{"content":"x","special":true}}}')
    write("generation", b"h", b'{"eos_token_id":[0,1],"bos_token_id":0,"pad_token_id":-1}')


if __name__ == "__main__":
    main()
