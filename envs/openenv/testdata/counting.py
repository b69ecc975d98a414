"""An OpenEnv server with a seeded world: guess a number from 0 to 9999. PORT, SESSIONS and WANDERS come from the
environment; where WANDERS names a file, which counts episodes, the number is another one in each."""

import os
import random
import sys
import threading
import time

import uvicorn
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field


class Guess(Action):
    """Guesses the number."""

    number: int = Field(..., description="0 to 9999")
    note: str = Field(default="", description="anything")


class Hint(Observation):
    said: str = ""
    guesses: int = 0


class Guessing(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **kwargs):
        self.secret, self.guesses = random.Random(seed).randrange(10_000), 0
        if file := os.environ.get("WANDERS"):
            with open(file, "a") as f:
                f.write(".")
            self.secret = (self.secret + os.path.getsize(file)) % 10_000
        return Hint(said=f"guess; it is {'odd' if self.secret % 2 else 'even'}")

    def step(self, action, **kwargs):
        self.guesses += 1
        if action.note == "slow":
            time.sleep(3600)
        if action.note == "broken":
            raise RuntimeError("division by zero")
        if action.note == "long":
            return Hint(said="x" * 10_000_000, guesses=self.guesses, reward=0.0)
        found = action.number == self.secret
        said = "found" if found else "higher" if action.number < self.secret else "lower"
        return Hint(said=said, guesses=self.guesses, done=found, reward=1.0 if found else 0.0, metadata={"secret": self.secret})

    @property
    def state(self):
        return State(step_count=self.guesses)


def leave():
    """Ends with the test that started it, whatever becomes of that."""
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=leave, daemon=True).start()
app = create_app(Guessing, Guess, Hint, env_name="guessing", max_concurrent_envs=int(os.environ["SESSIONS"]))
uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning")
