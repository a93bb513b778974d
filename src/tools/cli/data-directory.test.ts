import { X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, rmdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { servingCredentials } from "./data-directory.ts";
import { clusterCredentials } from "./up/cluster-files.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-data-directory-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const HERE = ["127.0.0.1"];
/** No certificate of `evenkeel up` has this address, so `evenkeel serve` makes a new one. */
const ELSEWHERE = ["192.0.2.1"];
const folder = (): string => join(directory, "up");

/** All files below a directory with their text. */
function textsIn(path: string): Record<string, string> {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(files.map((file) => [file, readFileSync(file, "utf8")]));
}

/** Moves the certificates of `evenkeel up` to where earlier versions of it wrote them. */
function moveIntoDataDirectory(): void {
  for (const name of readdirSync(folder())) renameSync(join(folder(), name), join(directory, name));
  rmdirSync(folder());
}

describe("the certificates in a data directory", () => {
  test("of serve do not change when up creates its own, and those of up do not change when serve creates new ones", () => {
    servingCredentials(directory, HERE);
    const ofServe = textsIn(directory);
    const cluster = clusterCredentials(directory);
    expect(textsIn(directory)).toMatchObject(ofServe);
    const ofUp = textsIn(folder());
    servingCredentials(directory, ELSEWHERE);
    expect(readFileSync(join(directory, "ca.crt"), "utf8")).not.toBe(ofServe[join(directory, "ca.crt")]);
    expect(textsIn(folder())).toEqual(ofUp);
    expect(clusterCredentials(directory)).toEqual(cluster);
  });

  test("of up are in a folder that only its user can read", () => {
    const { caFile, frontProxyCertFile, frontProxyKeyFile } = clusterCredentials(directory);
    for (const file of [caFile, frontProxyCertFile, frontProxyKeyFile]) expect(existsSync(file)).toBe(true);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    const keys = readdirSync(folder()).filter((name) => name.endsWith(".key"));
    expect(keys).toHaveLength(5);
    for (const name of keys) expect(statSync(join(folder(), name)).mode & 0o777, name).toBe(0o600);
  });

  test("that an earlier up wrote are copied and used", () => {
    const before = clusterCredentials(directory);
    moveIntoDataDirectory();
    expect(existsSync(folder())).toBe(false);
    expect(clusterCredentials(directory)).toEqual(before);
    expect(existsSync(join(directory, "ca.crt"))).toBe(true);
  });

  test("that an earlier up wrote are copied before serve creates new ones with the same file names", () => {
    const before = clusterCredentials(directory);
    moveIntoDataDirectory();
    const { ca } = servingCredentials(directory, ELSEWHERE);
    expect(readFileSync(join(directory, "ca.crt"), "utf8")).toBe(ca);
    expect(ca).not.toBe(before.ca.certPem);
    expect(clusterCredentials(directory)).toEqual(before);
  });

  test("that an earlier serve wrote are used by serve, and never by up", () => {
    const before = servingCredentials(directory, HERE);
    expect(servingCredentials(directory, HERE)).toEqual(before);
    const { ca, serving } = clusterCredentials(directory);
    expect(ca.certPem).not.toBe(before.ca);
    expect(new X509Certificate(serving.certPem).verify(new X509Certificate(ca.certPem).publicKey)).toBe(true);
  });

  test("that an earlier up wrote are copied completely even if a process was killed during an earlier copy", () => {
    const before = clusterCredentials(directory);
    moveIntoDataDirectory();
    const copies = clusterCredentials(directory);
    renameSync(folder(), `${folder()}.new`);
    rmSync(join(`${folder()}.new`, "ca.crt"));
    expect(clusterCredentials(directory)).toEqual(before);
    expect(copies).toEqual(before);
    expect(existsSync(`${folder()}.new`)).toBe(false);
  });
});
