#!/usr/bin/env python3
"""Compares Weft with llama.cpp on this machine, in one run.

Both get random weights of the same shapes. The two programs take turns, so
that what else the machine does meets both; the medians are compared.

    bench/cpu/compare.py --weft build/release/bin --llama-bench PATH \\
        --shapes smollm2-135m,llama-3.2-1b --dtypes bf16,f32 --threads 1,2

Needs numpy and the gguf package for llama.cpp's model files.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import random_gguf

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0 and not result.stdout:
        sys.exit(f"{' '.join(command)}\nfailed: {result.stderr}")
    return result.stdout


def weft_figures(bin_dir, plan, prompt, generate, threads):
    output = json.loads(run([
        os.path.join(bin_dir, "weft-bench"), plan, "--prompt-tokens",
        str(prompt), "--generate-tokens", str(generate), "--threads",
        str(threads), "--repeat", "1", "--json"]))
    return (output["prompt"]["tokens_per_second"]["median"],
            output["generation"]["tokens_per_second"]["median"])


def llama_figures(program, model, prompt, generate, threads):
    rows = json.loads(run([
        program, "-m", model, "-p", str(prompt), "-n", str(generate), "-t",
        str(threads), "-r", "1", "-o", "json"]))
    by_kind = {row["n_gen"] == 0: row["avg_ts"] for row in rows}
    return by_kind[True], by_kind[False]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weft", required=True, help="folder of Weft's tools")
    parser.add_argument("--llama-bench", required=True, help="llama.cpp's llama-bench")
    parser.add_argument("--shapes", default="smollm2-135m,llama-3.2-1b")
    parser.add_argument("--dtypes", default="bf16,f32")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--prompt-tokens", type=int, default=512)
    parser.add_argument("--generate-tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", help="folder for model files (default: a temporary one)")
    arguments = parser.parse_args()

    work = arguments.work or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    print("| shape | type | threads | prompt: Weft / llama.cpp | ratio "
          "| generation: Weft / llama.cpp | ratio |")
    print("|---|---|---|---|---|---|---|")
    for shape in arguments.shapes.split(","):
        with open(os.path.join(HERE, "..", "configs", shape + ".json")) as file:
            config = json.load(file)
        for dtype in arguments.dtypes.split(","):
            plan = os.path.join(work, f"{shape}-{dtype}.weft")
            model = os.path.join(work, f"{shape}-{dtype}.gguf")
            if not os.path.exists(plan):
                run([os.path.join(arguments.weft, "weft-compile"), "--synthesize",
                     shape, "--dtype", dtype, "-o", plan])
            if not os.path.exists(model):
                random_gguf.write(config, dtype, model)
            for threads in map(int, arguments.threads.split(",")):
                weft, llama = [], []
                for _ in range(arguments.rounds):
                    sizes = (arguments.prompt_tokens, arguments.generate_tokens, threads)
                    weft.append(weft_figures(arguments.weft, plan, *sizes))
                    llama.append(llama_figures(arguments.llama_bench, model, *sizes))
                cells = []
                for kind in range(2):
                    a = statistics.median(figures[kind] for figures in weft)
                    b = statistics.median(figures[kind] for figures in llama)
                    cells.append(f"{a:.1f} / {b:.1f} | {a / b:.2f}")
                print(f"| {shape} | {dtype} | {threads} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
