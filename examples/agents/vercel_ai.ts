// The order desk as an agent of the AI SDK. Options: --chat (chat completions; else responses), --stream.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, hasToolCall, stepCountIs, streamText, tool } from "ai";
import { SYSTEM, report, tools } from "./desk.ts";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const settings = {
  model: process.argv.includes("--chat") ? openai.chat("gpt-4.1") : openai.responses("gpt-4.1"),
  system: SYSTEM,
  prompt: process.argv.at(-1)!,
  tools: Object.fromEntries(
    Object.entries(tools).map(([name, t]) => [name, tool({ description: t.description, inputSchema: t.parameters, execute: t.execute } as any)]),
  ),
  stopWhen: [stepCountIs(12), hasToolCall("answer")],
};
try {
  if (process.argv.includes("--stream")) {
    const stream = streamText({ ...settings, onError: ({ error }) => { throw error; } });
    await stream.consumeStream();
  } else {
    await generateText(settings);
  }
} finally {
  report();
}
