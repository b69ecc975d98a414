"""TextWorld (MIT) as a world of longhaul: coin collector games, which it makes from the task's seed and whose engine says what is won.

python3 textworld_world.py [--levels 1-4] [--warm-up 1] [--prose DIR]

A game of level 3 has three rooms in a row, from 101 on there are dead ends besides. Tasks take the levels in turn, so that small games come
among larger ones; warm-up tasks take those of --warm-up. An observation is the room and the commands that are possible in it. With
--prose it is the game's own text instead: Inform 7, which TextWorld brings, compiles each game in some seconds, and DIR keeps it.
"""

import argparse, functools, os, tempfile

import textworld
from textworld import EnvInfos, GameMaker, GameOptions
from textworld.challenges.tw_coin_collector import coin_collector
from textworld.generator import compile_game
from textworld.generator.data import KnowledgeBase

from world import serve


def levels(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


parser = argparse.ArgumentParser()
parser.add_argument("--levels", type=levels, default="1-4")
parser.add_argument("--warm-up", type=levels, default="1")
parser.add_argument("--prose", metavar="DIR")
args = parser.parse_args()
INFOS = EnvInfos(feedback=True, admissible_commands=True, won=True, moves=True)
FIRST = {"train": 0, "eval": 1_000_000, "warm_up": 2_000_000}  # seeds of games: the splits share none


def save(maker, path):
    """Saves a game as JSON in place of compiling it, which the maker does to play it once: seconds a game."""
    maker._working_game = maker.build()
    path = os.path.splitext(path)[0] + ".json"
    maker._working_game.save(path)
    return path


GameMaker.compile = save
KnowledgeBase.load = functools.cache(KnowledgeBase.load)  # read once, and not for each game


@functools.lru_cache(256)  # a group's episodes have one game
def generate(split, index):
    """The game of a task, and its name."""
    among = args.warm_up if split == "warm_up" else args.levels
    level, seed = among[index % len(among)], FIRST[split] + index
    options = GameOptions()
    options.seeds = seed
    return coin_collector.make({"level": level}, options), f"coin-{level}-{seed}"


class Game:
    def __init__(self, task):
        self.game, name = generate(task["split"], task["index"])
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(args.prose or scratch, name + (".z8" if args.prose else ".json"))
            if args.prose:
                options = GameOptions()
                options.path = path
                compile_game(self.game, options)  # unless it is there
            else:
                self.game.save(path)
            self.engine = textworld.start(path, INFOS)
        self.state = self.engine.reset()
        self.observation = self.seen()

    def seen(self):
        if args.prose:
            banner, room, text = self.state.feedback.partition("-=")
            return (room + text or banner).strip()
        room = next(f.arguments[1].name for f in self.state["_facts"] if f.name == "at" and f.arguments[0].name == "P")
        return f"{self.game.infos[room].name}: {', '.join(self.state.admissible_commands)}"

    def step(self, name, arguments):
        command = " ".join(arguments["command"].split())
        self.state, _, done = self.engine.step(command)
        known = args.prose or self.state.feedback != "Invalid command."
        return (self.seen() if known else f"{command}: that is not possible. {self.seen()}"), bool(done)

    def score(self):
        return float(bool(self.state.won)), {"moves": float(self.state.moves or 0)}


def reference(task):
    game, _ = generate(task["split"], task["index"])
    return [("act", {"command": command}) for command in game.walkthrough]


serve(
    {
        "name": "textworld", "version": f"{textworld.__version__} {args.levels} {args.warm_up} {bool(args.prose)}",
        "system": "You play a text adventure. Find the coin and take it.",
        "tools": [{
            "name": "act", "description": "Says a command to the game, such as go east or take coin, and tells what comes of it.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"], "additionalProperties": False},
            "effect": "episode_local",
        }],
        "tasks": {"train": 1_000_000, "eval": 1_000_000, "warm_up": 1_000_000},
    },
    Game, reference,
)
