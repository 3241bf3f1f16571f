#!/usr/bin/env python3
"""Decoding of Weft beside PyTorch on one GPU, in one run.

    bench/gpu/compare.py --weft "COMMAND" --plans FOLDER [--configs FOLDER]
        [--shapes llama-3.2-1b,llama-3.1-8b] [--cases 1x512,8x512,32x512]

COMMAND runs weft-bench (of a bundle: "BUNDLE/run weft-bench"). FOLDER has a plan
SHAPE.weft for each shape, made by

    weft-compile --synthesize SHAPE --dtype bf16 --weights=generated \\
        --target=cuda:sm_90a -o SHAPE.weft

A case is sequences x context. Both sides have random bf16 weights and compute one
token of each sequence per step; Weft's figure has everything from the ids of a
step to the next ones, sampling on the host included, PyTorch's is the replay of a
CUDA graph. Every run is listed; the order alternates between the two.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(map(str, command))}: {done.stderr.strip()[-400:]}",
              file=sys.stderr)
        return None
    return json.loads(done.stdout[done.stdout.index("{"):])


def run_weft(options, shape, sequences, context):
    result = run(shlex.split(options.weft) +
                 [f"{options.plans}/{shape}.weft", "--sequences", str(sequences),
                  "--prompt-tokens", "1", "--depth", str(context - 1),
                  "--generate-tokens", "32", "--repeat", "3", "--json"])
    return result and result["generation"]["tokens_per_second"]["median"]


def run_pytorch(options, shape, sequences, context):
    result = run([sys.executable, ROOT / "bench/gpu/pytorch_decode.py",
                  f"{options.configs}/{shape}.json", "--sequences",
                  str(sequences), "--context", str(context)])
    return result and result["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True)
    parser.add_argument("--plans", required=True)
    parser.add_argument("--configs", default=ROOT / "bench/configs")
    parser.add_argument("--shapes", default="llama-3.2-1b,llama-3.1-8b")
    parser.add_argument("--cases", default="1x512,1x4096,8x512,32x512")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--without-pytorch", action="store_true")
    options = parser.parse_args()
    print(f"{'shape':14} {'case':8} {'Weft tok/s':>11} {'PyTorch':>9} {'ratio':>6}",
          flush=True)
    for shape in options.shapes.split(","):
        for case in options.cases.split(","):
            sequences, context = map(int, case.split("x"))
            for number in range(options.rounds):
                figures = {}
                sides = [("weft", run_weft), ("pytorch", run_pytorch)]
                for name, side in sides if number % 2 == 0 else sides[::-1]:
                    if name == "pytorch" and options.without_pytorch:
                        continue
                    figures[name] = side(options, shape, sequences, context)
                weft, peer = figures.get("weft"), figures.get("pytorch")
                show = lambda x, form: format(x, form) if x else "-"
                ratio = weft / peer if weft and peer else None
                print(f"{shape:14} {case:8} {show(weft, '11.1f'):>11} "
                      f"{show(peer, '9.1f'):>9} {show(ratio, '6.2f'):>6}",
                      flush=True)


if __name__ == "__main__":
    main()
