#!/usr/bin/env python3
"""Decoding of Weft beside PyTorch on one GPU, in one run.

    bench/gpu/compare.py --weft "COMMAND" --plans FOLDER [--configs FOLDER]
        [--shapes llama-3.2-1b,llama-3.1-8b] [--cases 1x512,8x512,32x512]
        [--compile "weft-compile"]

COMMAND runs weft-bench (of a bundle: "BUNDLE/run weft-bench"). FOLDER has a plan
SHAPE.weft for each shape, made by

    weft-compile --synthesize SHAPE --dtype bf16 --weights=generated \\
        --target=cuda:sm_90a -o SHAPE.weft

A case is sequences x context. Both sides have random bf16 weights and compute one
token of each sequence per step; Weft's figure has everything from the ids of a
step to the next ones, sampling included, PyTorch's is the replay of a CUDA graph.
Every run is listed; the order alternates between the two. "first" is the time from
the start of Weft's process to its first token. With --compile the plans are made
first, without a cache, and the time of that is printed.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import time

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
    return result and (result["generation"]["tokens_per_second"]["median"],
                       result["first_token_seconds"])


def compile_plan(options, shape):
    begin = time.monotonic()
    done = subprocess.run(
        shlex.split(options.compile) +
        ["--synthesize", shape, "--dtype", "bf16", "--weights=generated",
         f"--target={options.target}", "--no-kernel-cache",
         "-o", f"{options.plans}/{shape}.weft"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shape}: {done.stderr.strip()[-400:]}")
    print(f"{shape:14} compiled in {time.monotonic() - begin:.1f} s", flush=True)


def run_pytorch(options, shape, sequences, context):
    result = run([sys.executable, ROOT / "bench/gpu/pytorch_decode.py",
                  f"{options.configs}/{shape}.json", "--sequences",
                  str(sequences), "--context", str(context)])
    return result and (result["tokens_per_second"], None)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, help="command that runs weft-bench")
    parser.add_argument("--plans", required=True, help="folder of SHAPE.weft")
    parser.add_argument("--configs", default=ROOT / "bench/configs",
                        help="folder of SHAPE.json, for PyTorch (default: %(default)s)")
    parser.add_argument("--shapes", default="llama-3.2-1b,llama-3.1-8b",
                        help="default: %(default)s")
    parser.add_argument("--cases", default="1x512,1x4096,8x512,32x512",
                        help="SEQUENCESxCONTEXT (default: %(default)s)")
    parser.add_argument("--compile", help="command that runs weft-compile, to make the plans")
    parser.add_argument("--target", default="cuda:sm_90a",
                        help="of --compile (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1,
                        help="runs of each side (default: %(default)s)")
    parser.add_argument("--without-pytorch", action="store_true",
                        help="measure Weft alone")
    options = parser.parse_args()
    if options.compile:
        for shape in options.shapes.split(","):
            compile_plan(options, shape)
    print(f"{'shape':14} {'case':8} {'Weft tok/s':>11} {'PyTorch':>9} {'ratio':>6}"
          f" {'first s':>8}", flush=True)
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
                weft, first = figures.get("weft") or (None, None)
                peer, _ = figures.get("pytorch") or (None, None)
                show = lambda x, form: format(x, form) if x else "-"
                ratio = weft / peer if weft and peer else None
                print(f"{shape:14} {case:8} {show(weft, '11.1f'):>11} "
                      f"{show(peer, '9.1f'):>9} {show(ratio, '6.2f'):>6} "
                      f"{show(first, '8.2f'):>8}",
                      flush=True)


if __name__ == "__main__":
    main()
