"""Times on a GPU, for the benchmarks beside this file: by its own events, and of a first call."""
import statistics
import time

import torch


def timed(run, calls, warm=3):
    """Median of GPU time in ms, by events, after `warm` calls."""
    for _ in range(warm):
        run()
    milliseconds = []
    for _ in range(calls):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        end.synchronize()
        milliseconds.append(begin.elapsed_time(end))
    return statistics.median(milliseconds)


def first(run):
    """Wall-clock time of one call in ms."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e3
