import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import { World } from "../../../tools/simulator/world.ts";
import { reloadingCertificate, reloadingCredentials } from "./reloading-credentials.ts";
import { issue, type Issued } from "../../../../test/testing/access/auth/certificates.ts";

const CA = issue({ subject: [["CN", "ca"]], ca: {} });
let directory = "";
let written = 0;

beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "evenkeel-credentials-"))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function files(): { caFile: string; certFile: string; keyFile: string } {
  return { caFile: join(directory, "ca"), certFile: join(directory, "cert"), keyFile: join(directory, "key") };
}

/** Writes a file with a modification time of its own, however fast the test is. */
function write(file: string, text: string): void {
  writeFileSync(file, text);
  utimesSync(file, ++written, written);
}

function leaf(name: string): Issued {
  return issue({ subject: [["CN", name]], issuer: CA, usages: ["clientAuth"] });
}

function writeCert({ pem }: Issued): void {
  write(files().certFile, pem);
}

function writeKey({ privateKey }: Issued): void {
  write(files().keyFile, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
}

function reloading(world: World, warnings: string[] = []): ReturnType<typeof reloadingCredentials> {
  const log = { ...SILENT_LOG, warn: (message: string) => void warnings.push(message) };
  return reloadingCredentials({ files: files(), clock: world.clock, log });
}

test("a client certificate without a CA is reloaded after a change", async () => {
  const world = new World({ seed: 1 });
  const [first, second] = [leaf("first"), leaf("second")];
  writeCert(first);
  writeKey(first);
  const current = reloadingCertificate({ files: files(), clock: world.clock, log: SILENT_LOG });
  expect(current()).toEqual({ cert: first.pem, key: expect.stringContaining("PRIVATE KEY") });
  writeCert(second);
  writeKey(second);
  await world.advance(1_000);
  expect(current().cert).toBe(second.pem);
});

test("the client certificate and the CA of peers are reloaded after a change, and checked at most once a second", async () => {
  const world = new World({ seed: 1 });
  const [first, second] = [leaf("first"), leaf("second")];
  write(files().caFile, CA.pem);
  writeCert(first);
  writeKey(first);
  const current = reloading(world);
  const before = current();
  expect(before).toMatchObject({ ca: CA.pem, cert: first.pem });
  writeCert(second);
  writeKey(second);
  await world.advance(999);
  expect(current()).toBe(before);
  await world.advance(1);
  expect(current().cert).toBe(second.pem);
  const after = current();
  await world.advance(5_000);
  expect(current()).toBe(after);
});

test("the last valid certificate stays in use while a file is missing or the key does not match the certificate", async () => {
  const world = new World({ seed: 1 });
  const warnings: string[] = [];
  const [first, second] = [leaf("first"), leaf("second")];
  write(files().caFile, CA.pem);
  writeCert(first);
  writeKey(first);
  const current = reloading(world, warnings);
  const good = current();
  rmSync(files().keyFile);
  await world.advance(1_000);
  expect(current()).toBe(good);
  writeKey(second);
  await world.advance(1_000);
  expect(current()).toBe(good);
  expect(warnings).toHaveLength(2);
  writeCert(second);
  await world.advance(1_000);
  expect(current().cert).toBe(second.pem);
});

test("missing files and a key that does not match the certificate are errors at startup", () => {
  const world = new World({ seed: 1 });
  expect(() => reloading(world)).toThrow(/ENOENT/);
  write(files().caFile, CA.pem);
  writeCert(leaf("a"));
  writeKey(leaf("b"));
  expect(() => reloading(world)).toThrow();
});
