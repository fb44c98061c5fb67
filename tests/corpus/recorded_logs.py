"""Logs of the reference corpus for the scripts beside this file."""
import os, pathlib, sys, tarfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def folder_of(given, archives, work):
    """`given`, or the archives of the corpus unpacked into `work`; ends the script where neither is."""
    if given:
        return pathlib.Path(given)
    corpus = pathlib.Path(os.environ.get("ASSAY_CORPUS", SOURCE.parent / "shared" / "corpus"))
    for name in archives:
        archive = corpus / f"{name}.tar.xz"
        if not archive.exists():
            print(f"SKIPPED: {archive} is not there; set ASSAY_CORPUS")
            sys.exit(0)
        with tarfile.open(archive) as packed:
            packed.extractall(work, filter="data")
    return work


def programs_of(lines):
    """First and last line of the payload of each program in a log."""
    found, begin, is_code = [], 0, False
    for i, line in enumerate(lines + ["{"]):
        if line.startswith("\t"):
            continue
        if is_code:
            found.append((begin, i))
        is_code, begin = "inductor_output_code" in line, i + 1
    return found
