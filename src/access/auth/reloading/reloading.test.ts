import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Clock } from "../../../base/clock.ts";
import { createServingCertificate } from "../../../serving/http/node/serving-certificate.ts";
import type { ListenTls } from "../../../serving/http/node/listener.ts";
import { issueCa, issueClient, NOW } from "../../../../test/testing/access/auth/certificates.ts";
import type { CertificateChain } from "../client-certificates.ts";
import { certificateAuthorities, currentVerifier, type CertificateAuthorities } from "./authorities.ts";
import { fixedValue, pollFiles, reloadingFiles, type ReloadingFiles } from "./reloading.ts";
import { applyTlsChanges, listenTls, servingCertificate } from "./serving-tls.ts";

const directory = mkdtempSync(join(tmpdir(), "reloading-"));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
function newFile(text: string): string {
  const file = join(directory, String(files++));
  writeFileSync(file, text);
  return file;
}

/** Replaces the file by a rename, as editors and Kubernetes volumes do. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function numbers(file: string, said: string[]): ReloadingFiles<number> {
  return reloadingFiles({
    valueName: "number",
    files: [file],
    read: (name) => readFileSync(name, "utf8"),
    parse([text = ""]) {
      if (!/^\d+$/.test(text)) throw new Error("not a number");
      return Number(text);
    },
    log: { info: (message) => said.push(message), warn: (message) => said.push(message) },
  });
}

const AGAIN = "number reloaded";
const UNUSABLE = "failed to reload number; the previous value stays in use";

describe("reloadingFiles", () => {
  test("replace the value when a file changes, and call the listeners once", () => {
    const [said, reported]: [string[], number[]] = [[], []];
    const file = newFile("1");
    const value = numbers(file, said);
    value.onChange((number) => reported.push(number));
    value.poll();
    expect([value.current, reported, said]).toEqual([1, [], []]);
    replace(file, "2");
    expect(value.current).toBe(1);
    value.poll();
    value.poll();
    expect([value.current, reported, said]).toEqual([2, [2], [AGAIN]]);
  });

  test("keep the value if a file is invalid or unreadable, and log one warning per change", () => {
    const said: string[] = [];
    const file = newFile("1");
    const value = numbers(file, said);
    for (const text of ["x", "x", "y"]) {
      replace(file, text);
      value.poll();
      value.poll();
    }
    expect([value.current, said]).toEqual([1, [UNUSABLE, UNUSABLE]]);
    rmSync(file);
    value.poll();
    value.poll();
    expect([value.current, said.length]).toEqual([1, 3]);
    replace(file, "1");
    value.poll();
    expect([value.current, said.slice(3)]).toEqual([1, [AGAIN]]);
  });

  test("throw if a file is invalid at startup", () => {
    expect(() => numbers(newFile("x"), [])).toThrow("not a number");
    expect(() => numbers(join(directory, "absent"), [])).toThrow("ENOENT");
  });

  test("are polled every ten seconds until the signal aborts", async () => {
    const waits: { readonly delayMs: number; readonly go: () => void }[] = [];
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      after(delayMs, go) {
        waits.push({ delayMs, go });
        return () => undefined;
      },
    };
    let looks = 0;
    const ending = new AbortController();
    const following = pollFiles(clock, [{ poll: () => looks++ }], ending.signal);
    for (let round = 0; round < 3; round++) {
      expect([waits.length, looks]).toEqual([round + 1, round]);
      waits[round]!.go();
      await Promise.resolve();
      await Promise.resolve();
    }
    ending.abort();
    await following;
    expect(waits.map(({ delayMs }) => delayMs)).toEqual([10_000, 10_000, 10_000, 10_000]);
    expect(looks).toBe(3);
  });
});

function authoritiesOf(
  users: string,
  frontProxies: string,
  hasAllowedNames = false,
): ReloadingFiles<CertificateAuthorities> {
  return reloadingFiles({
    valueName: "CAs",
    files: [users, frontProxies],
    read: (name) => readFileSync(name, "utf8"),
    parse: ([usersPem, proxiesPem]) =>
      certificateAuthorities({ users: usersPem, frontProxies: proxiesPem, hasAllowedNames }),
    log: { info: () => undefined, warn: () => undefined },
  });
}

describe("certificate authorities", () => {
  const [before, after, proxies] = [issueCa("before"), issueCa("after"), issueCa("proxies")];
  const jane = [issueClient(before, {}).certificate];
  const john = [issueClient(after, {}).certificate];

  test("are replaced with their file, unless the new file is invalid", () => {
    const [users, frontProxies] = [newFile(before.pem), newFile(proxies.pem)];
    const authorities = authoritiesOf(users, frontProxies);
    const verify = currentVerifier(authorities, "users");
    const isTrusted = (chain: CertificateChain): boolean => verify(chain, NOW) === undefined;
    expect([isTrusted(jane), isTrusted(john)]).toEqual([true, false]);
    replace(users, after.pem);
    authorities.poll();
    expect([isTrusted(jane), isTrusted(john)]).toEqual([false, true]);
    replace(users, proxies.pem);
    authorities.poll();
    expect([isTrusted(jane), isTrusted(john)]).toEqual([false, true]);
  });

  test("trust no certificate if there is no CA", () => {
    const none = fixedValue(
      certificateAuthorities({ users: undefined, frontProxies: undefined, hasAllowedNames: false }),
    );
    expect(currentVerifier(none, "frontProxies")(jane, NOW)).toBe("there is no CA");
  });

  test("may be the same for users and front proxies only if allowed names are set", () => {
    const file = newFile(before.pem);
    expect(() => authoritiesOf(file, file)).toThrow("contain overlapping certificates");
    expect(authoritiesOf(file, file, true).current.frontProxies?.pem).toBe(before.pem);
  });

  test("apply to new connections, as does a new serving certificate once it matches its key", () => {
    const make = () => createServingCertificate({ hosts: ["a"], nowMs: NOW, commonName: "a" });
    const [first, second] = [make(), make()];
    const [cert, key] = [newFile(first.certPem), newFile(first.keyPem)];
    const certificate = reloadingFiles({
      valueName: "serving certificate",
      files: [cert, key],
      read: (name) => readFileSync(name, "utf8"),
      parse: servingCertificate,
      log: { info: () => undefined, warn: () => undefined },
    });
    const users = newFile(before.pem);
    const authorities = authoritiesOf(users, newFile(proxies.pem));
    const shown: ListenTls[] = [];
    applyTlsChanges({ certificate, authorities }, (tls) => shown.push(tls), { warn: () => undefined });
    expect(listenTls({ certificate, authorities }).cert).toBe(first.certPem);
    replace(cert, second.certPem);
    certificate.poll();
    expect(shown).toEqual([]);
    replace(key, second.keyPem);
    certificate.poll();
    replace(users, after.pem);
    authorities.poll();
    const { certPem, keyPem } = second;
    expect(shown).toEqual([
      { cert: certPem, key: keyPem, clientCa: `${before.pem}\n${proxies.pem}` },
      { cert: certPem, key: keyPem, clientCa: `${after.pem}\n${proxies.pem}` },
    ]);
  });
});
