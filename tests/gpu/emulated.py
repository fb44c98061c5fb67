"""Runs the kernels of the fake GPU (tests/fake_gpu) by the machine for PTX, one after the other.

usage: emulated.py FILE BASE     a descriptor of the GPU's memory and the address where it begins there
Each launch is three lines (blocks, threads and the cluster's blocks; arguments; buffers and their sizes), the length
of the PTX and the PTX; the answer is `done`, or what is wrong. In the end it says how many there were.
"""
import mmap
import sys

import ptx_machine


def launches(stream):
    while dims := stream.readline():
        arguments, buffers = stream.readline(), stream.readline()
        text = stream.read(int(stream.readline())).decode().rstrip("\0")
        yield *([int(one) for one in line.split()] for line in (dims, arguments, buffers)), text


def main():
    memory, base = memoryview(mmap.mmap(int(sys.argv[1]), 1 << 30)), int(sys.argv[2])
    machines, count = {}, 0
    for dims, arguments, buffers, text in launches(sys.stdin.buffer):
        try:
            if text not in machines:
                machines[text] = ptx_machine.Machine(text)
            rooms = [(at, memory[at - base:at - base + size]) for at, size in zip(buffers[::2], buffers[1::2])]
            machines[text].launch(arguments, rooms, tuple(dims[:3]), tuple(dims[3:6]), dims[6])
            count += 1
            print("done", flush=True)
        except Exception as error:  # whatever it is, the program that waits shall know
            print(f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)
    print(f"emulated launches: {count}", file=sys.stderr)


main()
