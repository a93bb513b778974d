import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd, startEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { ROOT } from "../smoke/built.ts";
import { runnableBlocks } from "./blocks.ts";
import { expectToRunAll, hasProgram } from "./shell.ts";

const PATH = "docs/operations.md";
const BLOCKS = runnableBlocks(readFileSync(join(ROOT, PATH), "utf8"));
const hasCurl = hasProgram("curl", "--version");
if (!hasEtcd()) console.warn(ETCD_MISSING);
if (!hasCurl) console.warn(`curl is not installed, so the commands of ${PATH} were not run`);

describe.skipIf(!hasEtcd() || !hasCurl)(`the commands of ${PATH}`, { timeout: 180_000 }, () => {
  test("run in order, and print the documented output", async () => {
    expect(BLOCKS.length).toBeGreaterThan(8);
    const etcd = (await startEtcd())!;
    try {
      const [portA, portB] = await freePorts();
      await expectToRunAll(PATH, BLOCKS, { ETCD: etcd.endpoint, PORT_A: String(portA), PORT_B: String(portB) });
    } finally {
      await etcd.stop();
    }
  });
});

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  const [first, second] = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) await once(server.close(), "close");
  return [first!, second!];
}
