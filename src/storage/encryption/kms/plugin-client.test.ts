/** Calls of KMS plugins over real Unix sockets. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { KeyService } from "../../../../test/testing/storage/encryption/key-service.ts";
import { startKmsPlugin } from "../../../../test/testing/storage/encryption/kms-plugin-server.ts";
import { realClock } from "../../../../test/testing/real-clock.ts";
import { openKmsPlugin, type KmsPlugin } from "./plugin-client.ts";

const directory = mkdtempSync(join(tmpdir(), "evenkeel-kms-"));
afterAll(() => rmSync(directory, { recursive: true }));

const SEED = Buffer.alloc(32, 5);

interface Opened extends Disposable {
  readonly plugin: KmsPlugin;
  readonly calls: string[];
}

function open(socket: string, timeoutMs = 5_000): Opened {
  const calls: string[] = [];
  const onCall = (method: string, _seconds: number, status: string): void => void calls.push(`${method} ${status}`);
  const plugin = openKmsPlugin({ socket, timeoutMs, clock: realClock(), onCall });
  return { plugin, calls, [Symbol.dispose]: () => plugin.close() };
}

test.each([
  ["at a path", join(directory, "one.sock")],
  ["in the abstract namespace", `@evenkeel-kms-${process.pid}`],
])("a plugin %s reports its status, and encrypts and decrypts data keys", async (_place, socket) => {
  await using server = await startKmsPlugin(socket, new KeyService("key-7"));
  using opened = open(socket);
  const { plugin, calls } = opened;
  expect(await plugin.status()).toEqual({ version: "v2", healthz: "ok", keyId: "key-7" });
  const encrypted = await plugin.encrypt(SEED, "uid");
  expect(encrypted.keyId).toBe("key-7");
  expect([...encrypted.annotations]).toEqual([["version.kms.example.com", Buffer.from("1")]]);
  expect(await plugin.decrypt(encrypted, "uid")).toEqual(SEED);
  await expect(plugin.decrypt({ ...encrypted, ciphertext: Buffer.alloc(40) }, "uid")).rejects.toThrow();
  expect(server.sessions.size).toBe(1);
  const service = "/v2.KeyManagementService";
  expect(calls).toEqual([
    `${service}/Status OK`,
    `${service}/Encrypt OK`,
    `${service}/Decrypt OK`,
    `${service}/Decrypt Internal`,
  ]);
});

test("a plugin that is absent fails each call at once, and is called again when it has started", async () => {
  const socket = join(directory, "late.sock");
  using opened = open(socket);
  await expect(opened.plugin.status()).rejects.toThrow("ENOENT");
  await using server = await startKmsPlugin(socket, new KeyService());
  expect((await opened.plugin.status()).healthz).toBe("ok");
  expect(server.sessions.size).toBe(1);
});

test("a plugin that has restarted is called over a new connection", async () => {
  const socket = join(directory, "restarted.sock");
  using opened = open(socket);
  for (const keyId of ["before", "after"]) {
    await using server = await startKmsPlugin(socket, new KeyService(keyId));
    expect((await opened.plugin.status()).keyId).toBe(keyId);
    expect(server.sessions.size).toBe(1);
  }
});

test("a plugin that does not respond fails the call after the timeout", async () => {
  const socket = join(directory, "silent.sock");
  const server = createServer().listen(socket);
  await once(server, "listening");
  using opened = open(socket, 50);
  await expect(opened.plugin.status()).rejects.toThrow("no response");
  expect(opened.calls).toEqual(["/v2.KeyManagementService/Status DeadlineExceeded"]);
  server.close();
});
