/**
 * Starts a server with the arguments with which other programs start kube-apiserver, and checks that it becomes ready
 * and reports the flags that it ignores.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../../src/serving/http/node/certificate-authority.ts";
import { ETCD_MISSING, hasEtcd, startEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { ARGUMENT_LISTS } from "./argument-lists.ts";
import { ask } from "./client.ts";
import { disposableDirectory, runIn } from "./start-evenkeel.ts";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

const POD_SECURITY = {
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AdmissionConfiguration",
  plugins: [
    {
      name: "PodSecurity",
      configuration: {
        apiVersion: "pod-security.admission.config.k8s.io/v1beta1",
        kind: "PodSecurityConfiguration",
        defaults: { enforce: "restricted", "enforce-version": "latest" },
        exemptions: { usernames: [], runtimeClasses: [], namespaces: ["kube-system"] },
      },
    },
  ],
};

/** Writes the files that the lists name. Returns the CA of the serving certificate. */
function writePki(directory: string): string {
  mkdirSync(directory);
  const nowMs = Date.now();
  const write = (name: string, { certPem, keyPem }: KeyedCertificate): void => {
    writeFileSync(join(directory, `${name}.crt`), certPem);
    writeFileSync(join(directory, `${name}.key`), keyPem);
  };
  const ca = createAuthority({ commonName: "ca", nowMs });
  write("ca", ca);
  write("front-proxy-ca", createAuthority({ commonName: "front-proxy-ca", nowMs }));
  write("apiserver", issueCertificate({ ca, commonName: "a", hosts: ["127.0.0.1"], usage: "serverAuth", nowMs }));
  write("client", issueCertificate({ ca, commonName: "front-proxy-client", usage: "clientAuth", nowMs }));
  write("sa-signer", createAuthority({ commonName: "sa-signer", nowMs }));
  const signer = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(directory, "sa.key"), signer.privateKey.export({ type: "pkcs1", format: "pem" }));
  writeFileSync(join(directory, "sa.pub"), signer.publicKey.export({ type: "spki", format: "pem" }));
  writeFileSync(join(directory, "tokens.csv"), 'token,admin,admin,"system:masters"\n');
  const tlsConfig = Object.fromEntries(
    [["caBundle", "ca.crt"] as const, ["clientCert", "client.crt"] as const, ["clientKey", "client.key"] as const].map(
      ([key, file]) => [key, join(directory, file)],
    ),
  );
  const transport = { tcp: { url: "https://127.0.0.1:6443", tlsConfig } };
  const egress = {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [{ name: "cluster", connection: { proxyProtocol: "HTTPConnect", transport } }],
  };
  writeFileSync(join(directory, "egress-selector-config.yaml"), JSON.stringify(egress));
  writeFileSync(
    join(directory, "audit-policy.yaml"),
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [level: None]\n",
  );
  writeFileSync(join(directory, "rke2-pss.yaml"), JSON.stringify(POD_SECURITY));
  return ca.certPem;
}

/** The names of the flags in the warnings of the log. */
function ignoredFlags(log: string): string[] {
  const lines = log.split("\n").filter((line) => line.startsWith("{"));
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "flags without effect");
  return warnings.flatMap(({ flags }) => flags as string[]).map((flag) => /^--([\w-]+)=/.exec(flag)![1]!);
}

describe.skipIf(isMissing)("the arguments of", { timeout: 60_000 }, () => {
  test.each(ARGUMENT_LISTS)("$name start a server that becomes ready", async ({ flags, withoutEffect }) => {
    using directory = disposableDirectory();
    const pki = join(directory.path, "pki");
    const ca = writePki(pki);
    const etcd = (await startEtcd())!;
    const agent = new Agent();
    try {
      const given = flags.map((flag) => flag.replace("PKI", pki).replace("ETCD", etcd.endpoint));
      await using command = runIn(directory.path, "serve", ...given);
      const [, url = ""] = await command.printed(/ at (https:\/\/\S+)/);
      await command.printed(/^Ready\.$/m);
      const { users } = JSON.parse(readFileSync(join(directory.path, ".evenkeel/kubeconfig"), "utf8"));
      const target = { url, port: Number(new URL(url).port), ca, token: users[0].user.token as string, agent };
      expect(await ask(target, { method: "GET", path: "/readyz" })).toMatchObject({ status: 200, text: "ok" });
      expect(ignoredFlags(command.stderr).toSorted()).toEqual(withoutEffect.toSorted());
      const hasEgress = flags.some((flag) => flag.startsWith("--egress-selector-config-file"));
      expect(command.stderr.includes('"selections":["cluster"]')).toBe(hasEgress);
    } finally {
      agent.destroy();
      await etcd.stop();
    }
  });
});
