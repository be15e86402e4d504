"""The standalone program: without arguments it opens the page, with arguments it is the command `peerveil`."""

import multiprocessing
import os
import runpy
import sys

WORKBOOKS = "peerveil.tables.workbook_process"


def main() -> None:
    """Run what the program was started for."""
    # Programs of the system, such as the browser and ssh-keygen, must not load the libraries of this one.
    for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
        original = os.environ.pop(f"{name}_ORIG", None)
        os.environ.pop(name, None)
        if original:
            os.environ[name] = original
    if sys.argv[1:] == [WORKBOOKS]:  # a process that reads a workbook, see peerveil.tables.workbooks
        runpy.run_module(WORKBOOKS, run_name="__main__")
        return
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # without a terminal, on Windows
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    if sys.argv[1:]:
        from peerveil.__main__ import main as run  # noqa: PLC0415 - what is not needed is not loaded
    else:
        from peerveil.web.serving.desktop import main as run  # noqa: PLC0415
    run()


if __name__ == "__main__":
    multiprocessing.freeze_support()  # ends here in processes of the page and of parallel work
    main()
