// A small group coordinator, in memory, behind fencepost's adapter protocol 1.
//
//   npm install && npx tsc && fencepost certify "exec:node dist/adapter.js"
//
// Node from 22.18 on needs no build: fencepost certify "exec:node adapter.ts".
// This file is the adapter: one JSON object per line in, one out.
import { createInterface } from "node:readline";
import { APIS, Coordinator, DEFAULTS, type Request, type Settings } from "./coordinator.ts";

type Command =
  | { cmd: "hello"; protocol: number }
  | { cmd: "reset"; config: Partial<Settings> }
  | ({ cmd: "send" } & Request)
  | { cmd: "advance"; ms: number }
  | { cmd: "restart" }
  | { cmd: "bye" };

let coordinator = new Coordinator(DEFAULTS);

function replyTo(command: Command): object {
  switch (command.cmd) {
    case "hello":
      return {
        protocol: 1, implementation: "typescript-coordinator", version: "1", clock: "virtual",
        apis: APIS, features: ["restart"],
      };
    case "reset": {
      const unknown = Object.keys(command.config).find((key) => !(key in DEFAULTS));
      if (unknown !== undefined) return { unsupported: unknown };
      const dropped = coordinator.openRequests();
      coordinator = new Coordinator({ ...DEFAULTS, ...command.config });
      return { ok: true, config: coordinator.settings, dropped };
    }
    case "send": {
      const [lowest, highest] = APIS[command.api] ?? [1, 0];
      if (command.version < lowest || command.version > highest) {
        return { unsupported: `${command.api} version ${command.version}` };
      }
      coordinator.handle(command);
      return { answers: coordinator.takeAnswers() };
    }
    case "advance":
      coordinator.advance(command.ms);
      return { answers: coordinator.takeAnswers() };
    case "restart": {
      const dropped = coordinator.failOver();
      return { answers: coordinator.takeAnswers(), dropped };
    }
    case "bye":
      return { ok: true };
    default:
      return { unsupported: (command as { cmd: string }).cmd };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply: object, isOver = false;
  try {
    const command: Command = JSON.parse(line);
    isOver = command.cmd === "bye";
    reply = replyTo(command);
  } catch (error) {
    console.error(error);
    reply = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
  if (isOver) break;
}
