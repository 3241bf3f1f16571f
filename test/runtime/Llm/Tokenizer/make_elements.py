#!/usr/bin/env python3
"""Makes data/elements.json: every element of tokenizer.json on its own.

usage: make_elements.py OUTPUT     (needs the Python package tokenizers, 0.23)

One small BPE model is trained on the texts as they are, so that its merges
cross every border an element can make: an element that splits or rewrites
wrongly gives other ids. The file holds the shared parts once and for each case
what it replaces, the ids of all texts and what they decode to.
"""

import itertools
import json
import sys

import tokenizers
from tokenizers import Tokenizer, models, trainers

TEXTS = [
    "",
    " ",
    "   ",
    "Hello world",
    " Hello  world ",
    "Title\n\n### Instruction:\nDo it.\n\n\n",
    "one<tok>two <tok> three  <tok>  four<tok>",
    "<tok><tok> <tok>x<tok>",
    "a<ctl>b <ctl> c  <ctl>\t<ctl>",
    "Day monday Daytime DAY day, Day. _Day Day1",
    "D'o\u00f9 vient-il? C'est l'\u00e9t\u00e9.",
    "D'ou\u0300 e\u0301te\u0301 o\u0323\u0302 \u1e9b\u0323",
    "\uff11\uff12\uff13 123 4567 \u0661\u0662 \u2460\u00bd x2y33",
    "non\u00a0breaking\u2003space\u3000here",
    "line\r\nline\r\n\r\nend\r",
    "\ttab\t\ttab ",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f44d\U0001f3fd",
    "don't WE'VE it's I'll 'quoted' y'all's",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3002\u4f60\u597d,world!",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\ufb01ne \ufb02ow \u2122 \u212b \u33a5 \u0130stanbul STRASSE \u1e9e \u03a3\u0391\u03a3",
    "zero\u200bwidth\ufeff \ufffd\u0001\u0000 soft\u00adhyphen",
    "a.b,c;d:e!f?g-h_i(j)k[l]m{n}o/p\\q|r@s#t$u%v^w&x*y+z=~`<>\"",
    "...!!!??? --- \u2014\u201cq\u201d\u00ab\u00bb\u3001",
    "x = 1;\n    if (x) {\n        return;\n    }\n",
    "\u2581low\u2581 bar \u2581 \u0120gap",
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "</w>done</w> low</w>er",
]

NORMALIZERS = {
    "nfc": {"type": "NFC"},
    "nfd": {"type": "NFD"},
    "nfkc": {"type": "NFKC"},
    "nfkd": {"type": "NFKD"},
    "lowercase": {"type": "Lowercase"},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "strip left": {"type": "Strip", "strip_left": True, "strip_right": False},
    "strip right": {"type": "Strip", "strip_left": False, "strip_right": True},
    "strip accents": {"type": "StripAccents"},
    "nfd + strip accents": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
    "replace string": {"type": "Replace", "pattern": {"String": "l"}, "content": "LL"},
    "replace regex": {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
    "replace with nothing": {"type": "Replace", "pattern": {"Regex": "[aeiou]"}, "content": ""},
    "prepend": {"type": "Prepend", "prepend": "\u2581"},
    "prepend + replace": {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
    "nmt": {"type": "Nmt"},
    "byte level": {"type": "ByteLevel"},
    "bert": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
             "strip_accents": None, "lowercase": True},
    "bert cased": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                   "strip_accents": None, "lowercase": False},
    "bert accents only": {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": False,
                          "strip_accents": True, "lowercase": False},
    "bert keeps accents": {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": True,
                           "strip_accents": False, "lowercase": True},
}

BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

PRE_TOKENIZERS = {
    "whitespace": {"type": "Whitespace"},
    "whitespace split": {"type": "WhitespaceSplit"},
    "bert pre-tokenizer": {"type": "BertPreTokenizer"},
    "digits": {"type": "Digits", "individual_digits": False},
    "digits individual": {"type": "Digits", "individual_digits": True},
    "char delimiter": {"type": "CharDelimiterSplit", "delimiter": "l"},
    "fixed length": {"type": "FixedLength", "length": 3},
    "split cl100k": {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Isolated", "invert": False},
    "split o200k": {"type": "Split", "pattern": {"Regex": O200K}, "behavior": "Isolated", "invert": False},
    "cl100k + byte level": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": CL100K}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
    "digits + byte level": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}]},
    "whitespace split + metaspace": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581",
                                      "prepend_scheme": "first", "split": True}]},
    "metaspace old": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True},
}
for behavior in BEHAVIORS:
    PRE_TOKENIZERS[f"punctuation {behavior}"] = {"type": "Punctuation", "behavior": behavior}
    for invert in (False, True):
        PRE_TOKENIZERS[f"split regex {behavior} {invert}"] = {
            "type": "Split", "pattern": {"Regex": "[\\s']"}, "behavior": behavior, "invert": invert}
    PRE_TOKENIZERS[f"split string {behavior}"] = {
        "type": "Split", "pattern": {"String": "l"}, "behavior": behavior, "invert": False}
for prefix_space, use_regex in itertools.product((False, True), repeat=2):
    PRE_TOKENIZERS[f"byte level {prefix_space} {use_regex}"] = {
        "type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": True, "use_regex": use_regex}
for scheme, split in itertools.product(("never", "first", "always"), (False, True)):
    PRE_TOKENIZERS[f"metaspace {scheme} {split}"] = {
        "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": split}

# Features of the pattern language, each on all texts.
REGEXES = [
    r"\w+", r"\W+", r"\s", r"[^\S\n]+", r"\h+", r"\b", r"\d{1,3}(?=(?:\d{3})*\b)", r"[[:alpha:]]+", r"[[:punct:]]+",
    r"\p{Alpha}+", r"\p{^L}+", r"\p{Letter}|\p{Punctuation}", r"[a-z&&[^aeiou]]+", r"[^a-z&&[\p{L}]]+",
    r"[\p{Han}\p{Hiragana}]+", r"\p{L}{2}+", r"(?m:t.l)", r"t.l", r"^.", r".$", r"(?i:HELLO|instruction)",
    r"[\]\-^a]", r"x|", r"(?<=o)\s", r"(?<!o)\s+", r"\R", r"[\w&&\P{Lu}]+", r"a{2,5}?", r"a{,3}", r"(?>\s+)\S",
    r"\u3042|\x{65e5}|\x61", r"\p{Lowercase_Letter}+", r"\p{So}", r"[\s\S]{4}",
]
for number, regex in enumerate(REGEXES):
    PRE_TOKENIZERS[f"pattern {number}"] = {
        "type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}

DECODERS = {
    "none": None,
    "byte level": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "metaspace always": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    "metaspace never": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True},
    "wordpiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "wordpiece plain": {"type": "WordPiece", "prefix": "l", "cleanup": False},
    "byte fallback": {"type": "ByteFallback"},
    "fuse": {"type": "Fuse"},
    "strip": {"type": "Strip", "content": "l", "start": 1, "stop": 0},
    "strip both": {"type": "Strip", "content": " ", "start": 2, "stop": 0},
    "replace": {"type": "Replace", "pattern": {"String": "l"}, "content": "_"},
    "replace regex": {"type": "Replace", "pattern": {"Regex": "[aeiou]+"}, "content": ""},
    "bpe": {"type": "BPEDecoder", "suffix": "</w>"},
    "ctc": {"type": "CTC", "pad_token": "l", "word_delimiter_token": "o", "cleanup": True},
    "llama": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "fuse + replace": {"type": "Sequence", "decoders": [
        {"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "lo"}, "content": "<>"}]},
}


def added(content, special, **settings):
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return dict(token, content=content, special=special, **settings)


def added_token_cases():
    for single, left, right, normalized in itertools.product((False, True), repeat=4):
        settings = dict(single_word=single, lstrip=left, rstrip=right, normalized=normalized)
        tokens = [added("<tok>", False, **settings), added("Day", False, **settings), added("<ctl>", True, **settings)]
        name = "added " + " ".join(k for k, v in settings.items() if v)
        yield name, dict(added_tokens=tokens)
        yield name + " lowercase", dict(added_tokens=tokens, normalizer={"type": "Lowercase"})
        yield name + " metaspace", dict(added_tokens=tokens, pre_tokenizer=PRE_TOKENIZERS["metaspace first True"])
        yield name + " prepend", dict(added_tokens=tokens, normalizer=NORMALIZERS["prepend + replace"])
        yield name + " byte level", dict(added_tokens=tokens, pre_tokenizer=PRE_TOKENIZERS["byte level True True"],
                                         decoder=DECODERS["byte level"])


def byte_alphabet(text):
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    table = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
    return "".join(table[b] for b in text.encode())


def base():
    """The shared parts, with a BPE model whose merges cross all borders."""
    corpus = TEXTS * 3 + [byte_alphabet(t) for t in TEXTS] * 3
    corpus += [t.replace(" ", "\u2581") for t in TEXTS] * 3 + [t.lower() for t in TEXTS] * 2
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=1500, special_tokens=["<unk>"], show_progress=False, max_token_length=12,
        initial_alphabet=[byte_alphabet(chr(b)) for b in range(128)]))
    return json.loads(tokenizer.to_str())


def with_bytes(model):
    vocab = dict(model["vocab"])
    for b in range(256):
        vocab[f"<0x{b:02X}>"] = len(vocab)
    return dict(model, vocab=vocab, byte_fallback=True)


def model_cases(model):
    small = dict(model)
    dropped = {t for t in model["vocab"] if len(t) == 1 and (ord(t) > 126 or t in "xyz\n")}
    vocab = {t: i for t, i in model["vocab"].items() if not set(t) & dropped}
    small["vocab"] = {t: i for i, t in enumerate(vocab)}
    small["merges"] = [m for m in model["merges"] if not set("".join(m)) & dropped]
    split = {"type": "WhitespaceSplit"}
    yield "bpe unk", dict(model=small)
    yield "bpe fuse unk", dict(model=dict(small, fuse_unk=True))
    yield "bpe no unk", dict(model=dict(small, unk_token=None))
    yield "bpe merges as text", dict(model=dict(
        small, merges=[" ".join(m) for m in small["merges"] if " " not in "".join(m)]))
    yield "bpe ignore merges", dict(model=dict(small, ignore_merges=True), pre_tokenizer=split)
    yield "bpe byte fallback", dict(model=with_bytes(small), decoder=DECODERS["llama"])
    yield "bpe byte fallback fuse", dict(model=dict(with_bytes(small), fuse_unk=True), decoder=DECODERS["llama"])
    corpus = TEXTS * 5
    for kind, m, trainer in (
            ("suffix", models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
             trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>"], end_of_word_suffix="</w>",
                                 show_progress=False)),
            ("prefix", models.BPE(unk_token="<unk>", continuing_subword_prefix="##"),
             trainers.BpeTrainer(vocab_size=400, special_tokens=["<unk>"], continuing_subword_prefix="##",
                                 show_progress=False)),
            ("wordpiece", models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20),
             trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]"], show_progress=False)),
            ("wordlevel", models.WordLevel(unk_token="[UNK]"),
             trainers.WordLevelTrainer(vocab_size=60, special_tokens=["[UNK]"], show_progress=False)),
            ("unigram", models.Unigram(),
             trainers.UnigramTrainer(vocab_size=300, special_tokens=["<unk>"], unk_token="<unk>",
                                     show_progress=False))):
        tokenizer = Tokenizer(m)
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        tokenizer.train_from_iterator(corpus[:-3], trainer)
        trained = json.loads(tokenizer.to_str())["model"]
        decoder = {"suffix": DECODERS["bpe"], "wordpiece": DECODERS["wordpiece"]}.get(kind)
        yield f"model {kind}", dict(model=trained, pre_tokenizer=split, decoder=decoder)
        yield f"model {kind} whole", dict(model=trained, pre_tokenizer=None, decoder=decoder)
        if kind == "unigram":
            entries = [e for e in trained["vocab"] if ord(max(e[0])) < 127]
            entries += [[f"<0x{b:02X}>", 0.0] for b in range(256)]
            yield "model unigram bytes", dict(model=dict(trained, vocab=entries, byte_fallback=True),
                                              decoder=DECODERS["llama"])
            yield "model unigram ascii", dict(model=dict(trained, vocab=entries[:-256]))


def template(*pieces):
    items = [{"Sequence": {"id": "A", "type_id": 0}} if p == "A" else {"SpecialToken": {"id": p, "type_id": 0}}
             for p in pieces]
    tokens = {p: {"id": p, "ids": [i + 3, 5][:1 + i % 2], "tokens": [p, p][:1 + i % 2]}
              for i, p in enumerate(pieces) if p != "A"}
    return {"type": "TemplateProcessing", "single": items, "pair": items + [{"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": tokens}


def post_cases():
    yield "post template", dict(post_processor=template("[A]", "A", "[B]", "[C]"))
    yield "post bert", dict(post_processor={"type": "BertProcessing", "sep": ["[S]", 7], "cls": ["[C]", 8]})
    yield "post roberta", dict(post_processor={
        "type": "RobertaProcessing", "sep": ["[S]", 7], "cls": ["[C]", 8], "trim_offsets": True,
        "add_prefix_space": True})
    yield "post sequence", dict(post_processor={"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        template("[X]", "A", "[Y]")]})


def make_cases(shared):
    for name, value in NORMALIZERS.items():
        yield "normalizer " + name, dict(normalizer=value)
        yield f"normalizer {name} + metaspace first", dict(
            normalizer=value, pre_tokenizer=PRE_TOKENIZERS["metaspace first False"])
    for name, value in PRE_TOKENIZERS.items():
        yield "pre-tokenizer " + name, dict(pre_tokenizer=value)
    for name, value in DECODERS.items():
        yield "decoder " + name, dict(decoder=value)
    for name, value in DECODERS.items():
        yield f"decoder {name} on pieces", dict(decoder=value, pre_tokenizer=PRE_TOKENIZERS["metaspace first True"],
                                                model=with_bytes(shared["model"]))
    yield from added_token_cases()
    yield from model_cases(shared["model"])
    yield from post_cases()


def build(shared, parts):
    whole = dict(shared, **parts)
    ids = whole["model"]["vocab"]
    known = dict(ids) if isinstance(ids, dict) else {t: i for i, (t, _) in enumerate(ids)}
    listed = []
    for token in whole["added_tokens"]:
        known.setdefault(token["content"], len(known))
        listed.append(dict(token, id=known[token["content"]]))
    return dict(whole, added_tokens=listed)


def record(whole, texts):
    tokenizer = Tokenizer.from_str(json.dumps(whole))
    special = {t["id"] for t in whole["added_tokens"] if t["special"]}
    rows = []
    for text in texts:
        ids = tokenizer.encode(text).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        # Not with skip_special_tokens: 0.23 forgets to skip normalized ones.
        text_ids = [i for i in ids if i not in special]
        decoded = tokenizer.decode(text_ids, skip_special_tokens=False) if text_ids else ""
        rows.append([ids, None if plain == ids else plain, None if decoded == text else decoded])
    return rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shared = base()
    shared["added_tokens"] = []
    cases = []
    for name, parts in make_cases(shared):
        whole = build(shared, parts)
        if "added_tokens" in parts:
            parts["added_tokens"] = whole["added_tokens"]
        try:
            rows = record(whole, TEXTS)
        except Exception as error:  # a pattern that Oniguruma itself refuses
            print(f"left out: {name}: {error}", file=sys.stderr)
            continue
        cases.append({"name": name, "parts": parts, "rows": rows})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"texts": TEXTS, "shared": shared, "cases": cases}, file, separators=(",", ":"))
    print(f"{len(cases)} cases, {len(TEXTS)} texts", file=sys.stderr)


if __name__ == "__main__":
    main()
