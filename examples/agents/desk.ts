// The order desk, as desk.py has it.
import { appendFileSync, writeFileSync } from "node:fs";
import { z } from "zod";

export const SYSTEM = `You work at the order desk of a warehouse. You are asked where an order is, and find out with the tools.
An order lies in a box. A box lies in another box or stands at a place: a city and a shelf, such as "Oslo 7".
When you are done, call answer with the place; that ends the work.`;

const order = JSON.parse(process.env.LONGHAUL_TASK!);
const boxes: string[] = order.boxes;
const came: { place: string | null; inspected: boolean } = { place: null, inspected: false };

// Writes what came of the work, for check.py. It is not printed: what agents print, the policy may have said.
export const report = () => writeFileSync(`${process.env.LONGHAUL_DIR}/report.json`, JSON.stringify(came));

const asked = (about: string) => {
  appendFileSync(`${process.env.LONGHAUL_DIR}/desk.log`, about + "\n");
  return new Promise((done) => setTimeout(done, 1000 * Number(process.env.DESK_SECONDS ?? 0)));
};
const box = z.object({ box: z.string().describe('The name of the box, a letter and a digit such as "C7".') });

export const tools = {
  find_order: {
    description: "Tells which box an order was put in.",
    parameters: z.object({ order: z.string().describe('The number of the order, two digits such as "48".') }),
    execute: async (given: any) => {
      await asked(given.order);
      return given.order !== order.number ? "none" : `${given.order} in box ${boxes[0]}${order.fragile ? ", fragile" : ""}`;
    },
  },
  track_box: {
    description: "Tells where a box is: in another box, or at a place.",
    parameters: box,
    execute: async (given: any) => {
      await asked(given.box);
      const at = boxes.indexOf(given.box);
      if (at < 0) return "none";
      return at === boxes.length - 1 ? `${given.box} at ${order.place}` : `${given.box} in box ${boxes[at + 1]}`;
    },
  },
  inspect: {
    description: "Looks into a box and tells the state of the goods.",
    parameters: box,
    execute: async (given: any) => {
      await asked(given.box);
      if (!boxes.includes(given.box)) return "none";
      if (given.box !== boxes.at(-1)) return `${given.box} empty`;
      came.inspected = true;
      return `${given.box} intact`;
    },
  },
  answer: {
    description: "Gives the final answer.",
    parameters: z.object({ place: z.string().describe('The place of the order, a city and a shelf such as "Oslo 7".') }),
    execute: async (given: any) => {
      came.place = given.place;
      return "done";
    },
  },
};
