/** Reload of the encryption configuration: values that become readable or unreadable without a write. */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { fileOf, IDENTITY, keyed, KMS, ONE, TWO, type Provider } from "./encryption-config.ts";
import { InProcessKms } from "./in-process-kms.ts";
import { names, startServer, type StartOptions, type TestServer } from "./start.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const S = `${SECRETS}/s`;
const SECRET = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { password: "hunter2" } };
const MINUTE = 60_000;
const RELOADS = "apiserver_encryption_config_controller_automatic_reloads_total";

const first = keyed("aesgcm", ["one", ONE]);
const second = keyed("aesgcm", ["two", TWO]);

class ReloadTest {
  readonly world = new World({ seed: 1 });
  readonly kms = new InProcessKms(this.world.clock);
  readonly logged: string[] = [];
  text = "";

  constructor(...providers: readonly Provider[]) {
    this.configure(...providers);
  }

  configure(...providers: readonly Provider[]): void {
    this.text = fileOf([{ resources: ["secrets"], providers }]);
  }

  server(options: StartOptions = {}): Promise<TestServer> {
    const note = (message: string, fields: object = {}): void =>
      void this.logged.push(message + JSON.stringify(fields));
    return startServer({
      world: this.world,
      openKmsPlugin: this.kms.open,
      log: { debug: () => {}, info: note, warn: note, error: note },
      encryption: { read: () => this.text, reloads: true },
      ...options,
    });
  }

  untilReloaded(): Promise<void> {
    return this.world.advance(MINUTE + 1_000);
  }
}

async function header(api: TestServer): Promise<string> {
  const { items } = await api.kv.range({ start: "/registry/secrets/default/s" });
  return items[0]?.value.toString("latin1", 0, 22) ?? "";
}

async function reloads(api: TestServer, result: "success" | "failure"): Promise<number> {
  const { text } = await api.get("/metrics");
  const line = text.split("\n").find((one) => one.startsWith(`${RELOADS}{status="${result}"`));
  return Number(line?.split(" ").at(-1) ?? 0);
}

describe("a changed file", () => {
  test("is applied within a minute, so that a key is rotated and retired without a restart", async () => {
    const t = new ReloadTest(first, IDENTITY);
    await using api = await t.server();
    await api.create(SECRETS, SECRET);
    expect(await header(api)).toBe("k8s:enc:aesgcm:v1:one:");
    t.configure(second, first, IDENTITY);
    await t.untilReloaded();
    expect(await reloads(api, "success")).toBe(1);
    const { body } = await api.get(S);
    expect((await api.put(S, body)).status).toBe(200);
    expect(await header(api)).toBe("k8s:enc:aesgcm:v1:two:");
    t.configure(second, IDENTITY);
    await t.untilReloaded();
    expect((await api.get(S)).body.data).toEqual(body.data);
    expect(await reloads(api, "success")).toBe(2);
  });

  test("without a key makes the values of the key unreadable, and readable again when the key is back", async () => {
    const t = new ReloadTest(first, IDENTITY);
    await using api = await t.server();
    await api.create(SECRETS, SECRET);
    const { body: before } = await api.get(S);
    const elsewhere = await api.watch("/api/v1/namespaces/kube-system/secrets?watch=true");
    t.configure(second, IDENTITY);
    await t.untilReloaded();
    const { status, body } = await api.get(S);
    expect([status, body.message]).toEqual([500, expect.stringContaining('with the key "one", which')]);
    expect((await api.get("/api/v1/secrets")).status).toBe(500);
    const covering = await api.watch(`${SECRETS}?watch=true`);
    expect((await covering.events()).map(({ type }) => type)).toEqual(["ERROR"]);
    t.configure(second, first, IDENTITY);
    await t.untilReloaded();
    expect((await api.get(S)).body).toEqual(before);
    expect(names(await api.get("/api/v1/secrets"))).toContain("s");
    expect([elsewhere.isEnded, await elsewhere.events()]).toEqual([false, []]);
  });

  test("with other bytes for the same key makes its values unreadable", async () => {
    const t = new ReloadTest(first, IDENTITY);
    await using api = await t.server();
    await api.create(SECRETS, SECRET);
    t.configure(keyed("aesgcm", ["one", TWO]), IDENTITY);
    await t.untilReloaded();
    expect((await api.get(S)).body.message).toContain("does not decrypt it");
  });

  test.each<[string, (t: ReloadTest) => void, string]>([
    ["is not YAML", (t) => (t.text = `a: "${ONE}`), "is not valid YAML"],
    ["is invalid", (t) => t.configure(keyed("aesgcm", ["one", `${TWO}!`])), "secret must be base64"],
    ["names a plugin that is unhealthy", (t) => ((t.kms.isDown = true), t.configure(KMS)), "the plugin is down"],
  ])("that %s is not applied, and logged once without its keys", async (_name, change, reason) => {
    const t = new ReloadTest(first, IDENTITY);
    await using api = await t.server();
    await api.create(SECRETS, SECRET);
    change(t);
    await t.world.advance(4 * MINUTE);
    const warnings = t.logged.filter((line) => line.includes("failed to reload the encryption configuration"));
    expect(warnings).toEqual([expect.stringContaining(reason)]);
    expect(warnings.join()).not.toContain(ONE.slice(0, 8));
    expect(await reloads(api, "failure")).toBeGreaterThan(1);
    expect(await reloads(api, "success")).toBe(0);
    expect((await api.get(S)).status).toBe(200);
    expect((await api.put(S, (await api.get(S)).body)).status).toBe(200);
  });

  test("without a plugin makes a value unreadable that the plugin was just decrypting", async () => {
    const t = new ReloadTest(KMS, IDENTITY);
    await using writer = await t.server({
      encryption: { read: () => fileOf([{ resources: ["secrets"], providers: [KMS] }]) },
    });
    await using reader = await t.server();
    t.kms.latencyMs = 1_500;
    t.configure(first, IDENTITY);
    await t.world.advance(MINUTE - 1_000);
    await writer.begin("POST", SECRETS, SECRET);
    await t.world.advance(2 * MINUTE);
    const { status, body } = await reader.begin("GET", S);
    expect([status, body.message]).toEqual([500, expect.stringContaining('"kms" with the key "test", which')]);
  });

  test("with a KMS plugin is applied once the plugin is healthy, which the health check reports", async () => {
    const t = new ReloadTest(first, IDENTITY);
    await using api = await t.server();
    await api.create(SECRETS, SECRET);
    expect((await api.get("/readyz/kms-providers")).status).toBe(200);
    t.configure(KMS, first, IDENTITY);
    await t.untilReloaded();
    expect((await api.put(S, (await api.get(S)).body)).status).toBe(200);
    expect(await header(api)).toMatch(/^k8s:enc:kms:v2:test:/);
    t.kms.isDown = true;
    await t.world.advance(MINUTE);
    expect((await api.get("/readyz/kms-providers")).status).toBe(500);
    t.configure(first, IDENTITY);
    await t.untilReloaded();
    expect((await api.get("/readyz/kms-providers")).status).toBe(200);
    expect((await api.get(S)).body.message).toContain('"kms" with the key "test", which');
    await t.world.advance(MINUTE);
    expect(t.kms.closed).toBe(1);
  });
});

test("a file that changes is not reloaded unless the flag is set", async () => {
  const t = new ReloadTest(first, IDENTITY);
  await using api = await t.server({ encryption: { read: () => t.text } });
  await api.create(SECRETS, SECRET);
  t.configure(second, IDENTITY);
  await t.world.advance(3 * MINUTE);
  expect((await api.get(S)).status).toBe(200);
  expect((await api.get("/readyz/kms-providers")).status).toBe(404);
});
