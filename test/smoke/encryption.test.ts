/** Encryption of the embedded store by a KMS plugin, which is a process of its own that is killed and started again. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { fileOf, IDENTITY } from "../api/encryption-config.ts";
import { spawnKmsPlugin } from "./spawn-kms-plugin.ts";
import { ask, configMap, CONFIG_MAPS, type SmokeResponse, type Target } from "./client.ts";
import { disposableDirectory, run, startEvenkeel, TOKEN } from "./start-evenkeel.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const PASSWORD = "a password that no file of the store contains";
const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "s", annotations: { note: PASSWORD } },
  stringData: { password: PASSWORD },
};

test("a server whose plugin was killed serves everything else, and its Secrets when the plugin is back", async () => {
  using directory = disposableDirectory();
  const dataDir = directory.path;
  const [socket, config] = [join(dataDir, "kms.sock"), join(dataDir, "encryption.json")];
  const provider = { kms: { apiVersion: "v2", name: "test", endpoint: `unix://${socket}` } };
  writeFileSync(config, fileOf([{ resources: ["secrets"], providers: [provider, IDENTITY] }]));
  const flags = [`--encryption-provider-config=${config}`];
  await using plugin = await spawnKmsPlugin(socket, "key-1");
  {
    await using server = await startEvenkeel({ dataDir, flags });
    expect((await server.request("POST", SECRETS, SECRET)).status).toBe(201);
    expect((await server.request("POST", CONFIG_MAPS, configMap("c"))).status).toBe(201);
    await server.stop();
  }
  for (const file of filesOf(dataDir)) expect(readFileSync(file).includes(PASSWORD), file).toBe(false);

  await plugin.kill();
  await using command = run(
    "serve",
    "--secure-port=0",
    `--data-dir=${dataDir}`,
    `--token-auth-file=${join(dataDir, "given-tokens.csv")}`,
    ...flags,
  );
  const [, url = ""] = await command.printed(/ at (https:\/\/\S+)/);
  const agent = new Agent();
  const ca = readFileSync(join(dataDir, "ca.crt"), "utf8");
  const target: Target = { url, port: Number(new URL(url).port), ca, token: TOKEN, agent };
  const get = (path: string): Promise<SmokeResponse> => ask(target, { method: "GET", path });
  expect((await until(() => get(`${CONFIG_MAPS}/c`), 200)).body.metadata.name).toBe("c");
  const { status, body } = await get(`${SECRETS}/s`);
  expect([status, body.message]).toEqual([
    500,
    expect.stringMatching(/secrets\/default\/s".*"kms" with the key "test"/),
  ]);
  expect((await get(SECRETS)).status).toBe(500);
  expect((await get("/readyz/kms-providers")).status).toBe(500);

  await using restarted = await spawnKmsPlugin(socket, "key-1");
  expect((await until(() => get(`${SECRETS}/s`), 200)).body.metadata.annotations.note).toBe(PASSWORD);
  await command.printed(/^Ready\.$/m);
  expect(command.stderr).not.toContain(PASSWORD);
  await restarted.kill();
  agent.destroy();
});

function filesOf(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** Repeats the request until it has this status. */
async function until(request: () => Promise<SmokeResponse>, status: number): Promise<SmokeResponse> {
  for (;;) {
    const response = await request();
    if (response.status === status) return response;
    await delay(50);
  }
}
