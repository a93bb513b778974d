import { createPrivateKey } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, describe, expect, test } from "vitest";
import {
  ensureServiceAccountKey,
  serviceAccountsOf,
  usesGeneratedKey,
  withCredentialFlags,
  type CredentialFlags,
} from "./credential-flags.ts";

const directory = mkdtempSync(join(tmpdir(), "credentials-"));
afterAll(() => rmSync(directory, { recursive: true }));

function parsed(...args: readonly string[]): CredentialFlags {
  const command = withCredentialFlags(new Command().exitOverride().configureOutput({ writeErr: () => undefined }));
  return command.parse(args, { from: "user" }).opts<CredentialFlags>();
}

describe("credential flags", () => {
  test("without key flags, tokens are signed with the generated key", () => {
    const kept = { file: "sa.key", pem: "" };
    const flags = parsed();
    expect(usesGeneratedKey(flags)).toBe(true);
    expect(flags.anonymousAuth).toBeUndefined();
    expect(serviceAccountsOf(flags, kept)).toEqual({
      keyFiles: [],
      signingKey: kept,
      issuers: undefined,
      jwksUri: undefined,
      maxTokenExpirationMs: 0,
      extendTokenExpiration: true,
      lookup: true,
      apiAudiences: undefined,
    });
  });

  test("--service-account-key-file and --service-account-issuer are repeatable, and do not split their values at commas", () => {
    const [one, other] = ["a,b.key", "c.key"].map((name) => join(directory, name));
    for (const file of [one!, other!]) writeFileSync(file, "pem");
    const flags = parsed(
      ...["--service-account-key-file", one!, "--service-account-key-file", other!],
      ...["--service-account-issuer", "https://a,b", "--service-account-issuer", "c"],
      ...["--api-audiences", "x,y", "--service-account-max-token-expiration", "48h"],
    );
    expect(usesGeneratedKey(flags)).toBe(false);
    expect(serviceAccountsOf(flags, { file: "sa.key", pem: "" })).toMatchObject({
      keyFiles: [
        { file: one, pem: "pem" },
        { file: other, pem: "pem" },
      ],
      signingKey: undefined,
      issuers: ["https://a,b", "c"],
      apiAudiences: ["x", "y"],
      maxTokenExpirationMs: 172_800_000,
    });
  });

  test("settings that are enabled by default can be disabled", () => {
    const flags = parsed(
      "--service-account-lookup=false",
      "--anonymous-auth=false",
      "--service-account-extend-token-expiration",
    );
    expect(flags).toMatchObject({
      serviceAccountLookup: false,
      anonymousAuth: false,
      serviceAccountExtendTokenExpiration: true,
    });
    expect(() => parsed("--anonymous-auth=maybe")).toThrow("not true or false");
  });

  test("a boolean flag without a value is true, and its help shows only its default", () => {
    expect(parsed("--anonymous-auth").anonymousAuth).toBe(true);
    const help = withCredentialFlags(new Command()).helpInformation();
    expect(help).toContain("reject a token from a Secret after the Secret is deleted (default: true)");
  });

  test("the generated key is created once, and only its owner can read it", () => {
    const made = ensureServiceAccountKey(directory);
    expect(createPrivateKey(made.pem).asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
    expect(statSync(made.file).mode & 0o777).toBe(0o600);
    expect(ensureServiceAccountKey(directory)).toEqual(made);
    expect(readdirSync(directory).filter((name) => name.startsWith("sa.key"))).toEqual(["sa.key"]);
  });
});
