// The order desk as an agent of the OpenAI Agents SDK. Options: --chat (chat completions; else responses), --stream.
import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import { SYSTEM, report, tools } from "./desk.ts";

setTracingDisabled(true); // it would report to OpenAI
if (process.argv.includes("--chat")) setOpenAIAPI("chat_completions");

const agent = new Agent({
  name: "desk",
  model: "gpt-4.1",
  instructions: SYSTEM,
  tools: Object.entries(tools).map(([name, t]) => tool({ name, ...t } as any)),
  toolUseBehavior: { stopAtToolNames: ["answer"] },
});
const goal = process.argv.at(-1)!;
try {
  if (process.argv.includes("--stream")) {
    const stream = await run(agent, goal, { stream: true, maxTurns: 12 });
    for await (const _ of stream);
    await stream.completed;
  } else {
    await run(agent, goal, { maxTurns: 12 });
  }
} finally {
  report();
}
