"""Child processes and the pipes that connect them with this process.

    with Pool("package.module:serve", 4, name="rank") as pool:
        answer = pool.ask(message)          # blocks; pool.threads has one thread per child

    def serve(receive, send):               # runs in the child
        while True:
            send(answer_to(receive()))

These are plain child processes rather than `multiprocessing`: nothing is forked from a process with
threads, and the user's main module is never imported again. A child exits when the pipe from its
parent closes, however the parent ended and even in the middle of its work, so it must not hold
anything that has to be saved. If a child ends by itself, the parent gets `ChildEnded`, which says
how.

    process.py    `Child`: a child, which one thread asks at a time; `Pool`: children that are
                  started when needed, and again when they have ended
    supervisor.py `Exchange`: a child that is asked many things at once; `Program`: another program,
                  with all that it starts, for as long as it is needed
    child.py      runs in a child
    launcher.py   becomes a program that ends with its parent
"""

from adapters.processes.process import (
    Child,
    ChildEnded,
    Command,
    Lease,
    Pool,
    available_cpus,
    python_path,
)

__all__ = ["Child", "ChildEnded", "Command", "Lease", "Pool", "available_cpus", "python_path"]
