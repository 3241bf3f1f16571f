#!/usr/bin/env python3
"""Compares Weft with llama.cpp on this machine, in one run.

Both get random weights of the same shapes. The two programs take turns, so
that what else the machine does meets both; the medians are compared, and every
single run is listed behind the table.

    bench/cpu/compare.py --weft build/release/bin --llama-bench PATH \\
        --shapes smollm2-135m,llama-3.2-1b --dtypes bf16,f32 --threads 1,2

On a machine with other users, --most-load says how many cores other programs
may use during a run: a busier run is thrown away, whatever its result, and
repeated. Needs numpy and the gguf package for llama.cpp's model files.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import random_gguf

HERE = os.path.dirname(os.path.abspath(__file__))


def busy_seconds():
    """Processor time of the whole machine and of this script's children."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(
            int, file.readline().split()[1:9])
    ticks = user + nice + system + irq + softirq + steal
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ticks / os.sysconf("SC_CLK_TCK"), usage.ru_utime + usage.ru_stime


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0 and not result.stdout:
        sys.exit(f"{' '.join(command)}\nfailed: {result.stderr}")
    return result.stdout


class Watch:
    """Runs figures and knows how many cores other programs used meanwhile."""

    def __init__(self, most_load, attempts):
        self.most_load, self.attempts, self.discarded = most_load, attempts, 0

    def __call__(self, figures, *arguments):
        for attempt in range(self.attempts):
            start, (all_before, own_before) = time.monotonic(), busy_seconds()
            result = figures(*arguments)
            seconds, (everything, own) = time.monotonic() - start, busy_seconds()
            load = ((everything - all_before) - (own - own_before)) / seconds
            if self.most_load is None or load <= self.most_load:
                return result, max(load, 0)
            self.discarded += 1
        sys.exit(f"other programs used more than {self.most_load} cores during "
                 f"{self.attempts} runs in a row; wait or raise --most-load")


def weft_figures(bin_dir, plan, prompt, generate, threads):
    output = json.loads(run([
        os.path.join(bin_dir, "weft-bench"), plan, "--prompt-tokens",
        str(prompt), "--generate-tokens", str(generate), "--threads",
        str(threads), "--repeat", "1", "--json"]))
    return [(output[kind]["tokens_per_second"]["median"],
             output[kind]["fraction_of_bound"])
            for kind in ("prompt", "generation")]


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
    parser.add_argument("--shapes", default="smollm2-135m,llama-3.2-1b",
                        help="default: %(default)s")
    parser.add_argument("--dtypes", default="bf16,f32", help="default: %(default)s")
    parser.add_argument("--threads", default="1,2", help="default: %(default)s")
    parser.add_argument("--prompt-tokens", type=int, default=512,
                        help="default: %(default)s")
    parser.add_argument("--generate-tokens", type=int, default=32,
                        help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5,
                        help="runs of each program (default: %(default)s)")
    parser.add_argument("--most-load", type=float, metavar="CORES",
                        help="discard runs during which others used more")
    parser.add_argument("--attempts", type=int, default=10,
                        help="runs to try for one that --most-load allows")
    parser.add_argument("--work", help="folder for model files (default: a temporary one)")
    arguments = parser.parse_args()

    work = arguments.work or tempfile.mkdtemp()
    os.makedirs(work, exist_ok=True)
    watch = Watch(arguments.most_load, arguments.attempts)
    listing = []
    print("| shape | type | threads | prompt: Weft / llama.cpp | ratio | of bound "
          "| generation: Weft / llama.cpp | ratio | of bound |")
    print("|---|---|---|---|---|---|---|---|---|")
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
            # Writing the files back would take memory bandwidth from a run.
            os.sync()
            for threads in map(int, arguments.threads.split(",")):
                weft, llama = [], []
                for _ in range(arguments.rounds):
                    sizes = (arguments.prompt_tokens, arguments.generate_tokens, threads)
                    figures, load = watch(weft_figures, arguments.weft, plan, *sizes)
                    peer, peer_load = watch(
                        llama_figures, arguments.llama_bench, model, *sizes)
                    weft.append(figures)
                    llama.append(peer)
                    listing.append(
                        f"{shape} {dtype} {threads}: prompt {figures[0][0]:.1f} / "
                        f"{peer[0]:.1f}, generation {figures[1][0]:.1f} / "
                        f"{peer[1]:.1f}, other load {load:.2f} / {peer_load:.2f}")
                cells = []
                for kind in range(2):
                    a = statistics.median(figures[kind][0] for figures in weft)
                    b = statistics.median(figures[kind] for figures in llama)
                    fraction = statistics.median(figures[kind][1] for figures in weft)
                    cells.append(f"{a:.1f} / {b:.1f} | {a / b:.2f} | {fraction:.0%}")
                print(f"| {shape} | {dtype} | {threads} | {' | '.join(cells)} |", flush=True)
    print(f"\nEvery run (discarded for load: {watch.discarded}):\n")
    print("\n".join(listing))


if __name__ == "__main__":
    main()
