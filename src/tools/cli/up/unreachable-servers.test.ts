import { expect, test } from "vitest";
import type { SeenServer } from "./readiness.ts";
import { statusText } from "./summary.ts";
import { UnreachableServers } from "./unreachable-servers.ts";

function backend(id: string): { id: string; host: string; port: number } {
  return { id, host: "127.0.0.1", port: 1 };
}

function sees(id: string, unreachableBecause?: string): SeenServer {
  return { id, isUsable: unreachableBecause === undefined, unreachableBecause };
}

const SERVER = {
  spec: { text: "1.36", release: "1.36", runtimeConfig: [] },
  url: "",
  pid: 1,
  state: "running",
  isReady: true,
  isPartitioned: false,
} as const;

test("the status line of `evenkeel up` names the reason why a server is unreachable for another one", async () => {
  const reports: Record<string, SeenServer[]> = {
    a: [sees("a"), sees("b", "no response for 1 s"), sees("c", "connection refused")],
    c: [sees("a"), sees("b", "connection reset"), sees("c")],
  };
  const unreachable = new UnreachableServers();
  const asked: string[] = [];
  const ask = ({ id }: { id: string }): Promise<SeenServer[]> => {
    asked.push(id);
    const report = reports[id];
    return report === undefined ? Promise.reject(new Error("no response")) : Promise.resolve(report);
  };
  const all = ["a", "b", "c"].map(backend);
  await Promise.all([unreachable.refresh(all, ask), unreachable.refresh(all, ask)]);
  expect(asked).toEqual(["a", "b", "c"]);
  const servers = ["a", "b", "c"].map((id) => ({ ...SERVER, id }));
  const line = (): string =>
    statusText(servers, { open: 2, accepted: 2, rejected: 0 }, (id) => unreachable.reasonFor(id));
  expect(line()).toBe(
    "3/3 ready | a 1.36 ready | b 1.36 ready, unreachable (no response for 1 s) | c 1.36 ready, unreachable (connection refused) | 2 connections",
  );
  reports["a"] = [sees("a"), sees("b"), sees("c")];
  reports["c"] = [];
  await unreachable.refresh(all, ask);
  expect(line()).toBe("3/3 ready | a 1.36 ready | b 1.36 ready | c 1.36 ready | 2 connections");
});
