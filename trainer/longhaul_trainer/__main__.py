"""python -m longhaul_trainer: does the update job that LONGHAUL_SPEC_URI names, as LONGHAUL_OWNER.

LONGHAUL_ATTEMPT says which attempt it is. LONGHAUL_WORK_DIR is a directory whose files spare the next job on this machine what it
has read already. Neither need be set.
"""

import os
import signal
import sys
import threading
import traceback

from .failure import DONE, PREEMPTED, RETRY, Failure, missing

LEAVE_WITHIN = 10.0  # seconds after SIGTERM, whether the store answers or not: whoever sent it kills after 30


def main() -> int:
    terminated = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    job = None

    def stop() -> None:
        terminated.wait()
        print("stopping: SIGTERM", file=sys.stderr)
        threading.Timer(LEAVE_WITHIN, leave, [PREEMPTED]).start()
        if job:
            job.stop()
        leave(PREEMPTED)

    threading.Thread(target=stop, daemon=True).start()
    try:
        from .job import Job  # what it needs may be missing

        attempt = int(os.environ.get("LONGHAUL_ATTEMPT", "1"))
        job = Job(environment("LONGHAUL_SPEC_URI"), environment("LONGHAUL_OWNER"), attempt, os.environ.get("LONGHAUL_WORK_DIR"))
        job.run()
        return DONE
    except Failure as e:
        failure, code = e, e.exit
    except ImportError as e:
        failure = missing(e)
        code = failure.exit
    except Exception as e:
        traceback.print_exc()
        failure, code = Failure("unavailable", "trainer", f"{type(e).__name__}: {e}"), RETRY
    if terminated.is_set():
        threading.Event().wait()  # what fails now fails of being stopped: stop ends the process
    print(f"longhaul_trainer: {failure}", file=sys.stderr)
    if job:
        job.fail(failure)
    return code


def environment(name: str) -> str:
    if value := os.environ.get(name):
        return value
    raise Failure("invalid", name, "it is not set")


def leave(code: int) -> None:
    """Ends the process without waiting for requests that are under way."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main())
