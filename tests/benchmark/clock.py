"""Times for the benchmarks beside this file: on a GPU by its own events, on a CPU by the wall's clock."""
import statistics
import time

import torch


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


def timed(run, calls, device="cuda", warm=3, burst=1):
    """Median in ms of `calls` calls, after `warm` others; on a GPU each is the mean of `burst` in a row."""
    for _ in range(warm):
        run()
    milliseconds = []
    for _ in range(calls):
        if device == "cpu":
            milliseconds.append(first(run, device))
            continue
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(burst):
            run()
        end.record()
        end.synchronize()
        milliseconds.append(begin.elapsed_time(end) / burst)
    return statistics.median(milliseconds)


def first(run, device="cuda"):
    """Wall-clock time of one call in ms."""
    wait(device)
    begin = time.perf_counter()
    run()
    wait(device)
    return (time.perf_counter() - begin) * 1e3
