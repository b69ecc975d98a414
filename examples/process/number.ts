// A world for longhaul in TypeScript: find a number by guessing. docs/process.md is the protocol; number.py is the same world.

import { createInterface } from "node:readline";

type Task = { split: string; index: number; seed: number };
type Game = { number: number; guesses: number; found: boolean };
type Request = {
  id: number; do: string; episode?: string; task?: Task; snapshot?: Game;
  call?: { name: string; arguments: { number: number } };
};

const most = 1000, guesses = 10;
const hello = {
  protocol: 1,
  name: "number",
  version: "1",
  system: `Find a number from 1 to ${most} in at most ${guesses} guesses.`,
  tools: [{
    name: "guess",
    description: "Says whether the number is higher, lower, or right.",
    parameters: { type: "object", properties: { number: { type: "integer" } }, required: ["number"], additionalProperties: false },
    effect: "episode_local",
  }],
  tasks: { train: 10000, eval: 1000 },
  snapshots: true,
  reference: true,
};
const games = new Map<string, Game>();
const secret = (task: Task): number => 1 + task.seed % most;

function say(game: Game, guess: number): object {
  game.guesses++;
  game.found = guess === game.number;
  if (game.found) return { observation: "right", done: true };
  return { observation: guess < game.number ? "higher" : "lower", done: game.guesses === guesses };
}

function answer(q: Request): object {
  if (q.do === "hello") return hello;
  if (q.do === "reference") return { calls: [{ name: "guess", arguments: { number: secret(q.task!) } }] };
  if (q.do === "reset" || q.do === "restore") {
    games.set(q.episode!, { guesses: 0, found: false, ...q.snapshot, number: secret(q.task!) });
    return q.do === "reset" ? { observation: `Which number from 1 to ${most} is it?` } : {};
  }
  const game = games.get(q.episode!);
  if (q.do === "close") games.delete(q.episode!);
  if (q.do === "close") return {};
  if (!game) throw new Error(`no episode ${q.episode}`);
  if (q.do === "step") return say(game, q.call!.arguments.number);
  return q.do === "snapshot" ? { snapshot: game } : { score: Number(game.found), metrics: { guesses: game.guesses } };
}

for await (const line of createInterface({ input: process.stdin })) {
  const q: Request = JSON.parse(line);
  let reply: object;
  try { reply = answer(q); } catch (e) { reply = { error: String(e) }; }
  process.stdout.write(JSON.stringify({ id: q.id, ...reply }) + "\n");
}
