import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "./built.ts";
import { disposableDirectory, run, startEvenkeel, type Exit } from "./start-evenkeel.ts";

interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

async function ended(...commandLine: string[]): Promise<Ended> {
  await using command = run(...commandLine);
  const exit = await command.exited;
  return { ...exit, stdout: command.stdout, stderr: command.stderr };
}

describe("help and version:", () => {
  test.each([[["--help"]], [["help"]], [["serve", "--help"]], [["help", "serve"]]])(
    "%s prints usage and exits 0",
    async (commandLine) => {
      const { code, stdout, stderr } = await ended(...commandLine);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^Usage: evenkeel /);
    },
  );

  test("--help lists each command on one line of at most 100 columns", async () => {
    const { stdout } = await ended("--help");
    const [, list = ""] = stdout.split("Commands:\n");
    const lines = list.trimEnd().split("\n");
    expect(lines.filter((line) => !/^ {2}[a-z]\S* .*\S$/.test(line) || line.length > 100)).toEqual([]);
    expect(lines.map((line) => line.trim().split(" ")[0])).toEqual(
      expect.arrayContaining(["up", "serve", "rehearse", "upgrade", "fault"]),
    );
  });

  test("--version prints only the version", async () => {
    const { code, stdout, stderr } = await ended("--version");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  test("no command prints usage on standard error and exits 2", async () => {
    const { code, stdout, stderr } = await ended();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^Usage: evenkeel /);
  });
});

test.skipIf(!existsSync("/dev/full"))("a report that cannot be written to standard output exits with 2", () => {
  const command = `"${join(ROOT, "bin", "evenkeel")}" check - > /dev/full`;
  const input = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n";
  const { status, stderr } = spawnSync("sh", ["-c", command], { input, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("cannot write to standard output") });
});

/** Matches an error that is exactly one line, without a stack trace. */
const ONE_SENTENCE = /^evenkeel: [^\n]+\n$/;

describe("an invalid command line", () => {
  const cases: readonly (readonly [flags: readonly string[], names: string])[] = [
    [["nonsense"], "nonsense"],
    [["serve", "--nonsense"], "--nonsense"],
    [["serve", "surplus"], "surplus"],
    [["serve", "--secure-port"], "--secure-port"],
    [["serve", "--secure-port", "65536"], "65536"],
    [["serve", "--secure-port", "https"], "https"],
    [["serve", "--request-timeout", "5x"], "5x"],
    [["serve", "--request-timeout", "0"], "--request-timeout"],
    [["serve", "--event-ttl", "0"], "--event-ttl"],
    [["serve", "--etcd-compaction-interval", "-1s"], "-1s"],
    [["serve", "--max-requests-inflight", "0", "--max-mutating-requests-inflight=0"], "positive"],
    [["serve", "--max-requests-inflight", "-1"], "-1"],
    [["serve", "--anonymous-auth", "false"], "--anonymous-auth=false"],
    [["serve", "--etcd-healthcheck-timeout", "soon"], "soon"],
    [["serve", "--oidc-issuer-url", "https://a.example"], "--oidc-issuer-url=https://a.example"],
    [["serve", "--authorization-mode", "Webhook"], "Webhook"],
    [["serve", "--tls-min-version", "TLSv1.3"], "VersionTLS13"],
    [["serve", "--tls-cipher-suites", "TLS_RSA_WITH_RC4_128_SHA"], "TLS_RSA_WITH_RC4_128_SHA"],
    [["serve", "--version", "--release", "1.27"], "1.27"],
    [["serve", "--version=v1.30.0"], "v1.30.0"],
    [["serve", "--bind-address", "localhost"], "localhost"],
    [["serve", "--release", "1.27"], "1.27"],
    [["serve", "--release", "v1.36"], "v1.36"],
    [["serve", "--runtime-config", "a/b/c/d=true"], "a/b/c/d"],
    [["serve", "--runtime-config", "api/all=maybe"], "maybe"],
    [["serve", "--feature-gates", "Nameless"], "Nameless"],
    [["serve", "--feature-gates", "A=perhaps"], "A=perhaps"],
    [["serve", "--etcd-servers", "etcd-1"], "etcd-1"],
    [["serve", "--etcd-servers="], "--etcd-servers is empty"],
    [["serve", "--etcd-cafile", "ca.crt"], "--etcd-cafile: set --etcd-servers"],
    [["serve", "--fence-after", "1m"], "--fence-after must be less than --identity-lease-duration"],
    [["serve", "--cloud-provider=external"], "removed it in 1.33"],
    [["serve", "--authorisation-mode=RBAC"], "did you mean --authorization-mode?"],
    [["serve", "--etcd-servers", "http://127.0.0.1:1", "--etcd-certfile", "a.crt"], "--etcd-keyfile"],
    [["serve", "--etcd-prefix", "registry"], "registry"],
    [["serve", "--tls-cert-file", "a.crt"], "--tls-private-key-file"],
    [["serve", "--log-level", "loud"], "loud"],
    [["serve", "--goaway-chance", "0.5"], "0.02"],
    [["serve", "--startup-if-ready-mode", "report"], "--startup-send-retry-after-if-not-initialized"],
    [["serve", "--emulated-version", "1.20"], "1.20"],
    [["serve", "--min-compatibility-version", "1.37"], "1.37"],
    [["serve", "--discovery-mode", "oldest"], "oldest"],
    [["serve", "--field-loss", "ignore"], "ignore"],
    [["up", "--field-loss", "ignore"], "ignore"],
    [["up", "--etcd-servers="], "--etcd-servers is empty"],
    [
      ["up", "--peer-routing-source", "storageversion", "--feature-gates", "StorageVersionAPI=false"],
      "StorageVersionAPI",
    ],
    [["explain-route", "get", "/api/v1/pods", "--compatibility-version", "v1.36"], "v1.36"],
    [["serve", "--peer-routing-source", "storageversion", "--strict-release"], "StorageVersionAPI"],
  ];
  test.each(cases)(
    "%j fails with one sentence that contains the value, and exit code 2, and creates no file",
    async (flags, names) => {
      using directory = disposableDirectory();
      const dataDir = join(directory.path, "data");
      const { code, stdout, stderr } = await ended(
        ...flags,
        ...(flags[0] === "serve" && flags.length > 2 ? ["--data-dir", dataDir] : []),
      );
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(ONE_SENTENCE);
      expect(stderr).toContain(names);
      expect(existsSync(dataDir)).toBe(false);
    },
  );
});

test("every flag that the server rejects is named, with its value and the reason, beside another problem", async () => {
  const { code, stdout, stderr } = await ended(
    ...["serve", "--authorization-config=a.yaml", "--oidc_client_id", "b", "--etcd-servers=etcd-1"],
    ...["--service-account-signing-endpoint", "/run/signer", "--storage-backend=etcd3"],
  );
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr.trimEnd().split("\n")).toEqual([
    "evenkeel: --oidc-client-id=b is not supported: the server does not authenticate users by OpenID Connect",
    "evenkeel: --authorization-config=a.yaml is not supported: the server reads no AuthorizationConfiguration",
    expect.stringMatching(/^evenkeel: --service-account-signing-endpoint=\/run\/signer is not supported: /),
    expect.stringContaining("etcd-1"),
  ]);
});

test("a misspelled flag of up with a value has a suggestion", async () => {
  const { code, stderr } = await ended("up", "--sevrers=1.33");
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("Did you mean --servers?") });
});

test.each(["--version", "--version=true", "--version=raw"])(
  "serve %s prints the version of Kubernetes",
  async (flag) => {
    const { code, stdout, stderr } = await ended("serve", flag, "--release=1.35");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Kubernetes v1\.35\.\d+\+evenkeel\n$/);
  },
);

test("--cert-dir keeps the generated certificate, and flags without effect are reported once for each reason", async () => {
  using directory = disposableDirectory();
  const certDir = join(directory.path, "certs");
  const flags = ["--cert-dir", certDir, "--kubelet-timeout=5s", "--kubelet_port=10250", "--profiling", "-v", "0"];
  const presented = async (): Promise<string> => {
    await using server = await startEvenkeel({
      dataDir: directory.path,
      flags,
      caFile: join(certDir, "apiserver.crt"),
    });
    expect((await server.request("GET", "/readyz")).status).toBe(200);
    const warnings = server.stderr.split("\n").filter((line) => line.includes("flags without effect"));
    expect(warnings.map((line) => JSON.parse(line).flags)).toEqual([
      ["--profiling=true"],
      ["--kubelet-port=10250", "--kubelet-timeout=5s"],
    ]);
    return readFileSync(join(certDir, "apiserver.crt"), "utf8");
  };
  expect(await presented()).toBe(await presented());
});

describe("an error of the operating system", () => {
  test.each(["--token-auth-file", "--etcd-cafile", "--etcd-certfile", "--tls-cert-file"])(
    "for a missing file of %s is reported in one sentence, with exit code 1",
    async (flag) => {
      using directory = disposableDirectory();
      const missing = join(directory.path, "missing");
      const partner = flag.startsWith("--etcd") ? ["--etcd-servers", "https://127.0.0.1:1"] : [];
      const key = flag.endsWith("certfile")
        ? ["--etcd-keyfile", missing]
        : flag === "--tls-cert-file"
          ? ["--tls-private-key-file", missing]
          : [];
      const { code, stdout, stderr } = await ended(
        "serve",
        "--secure-port",
        "0",
        "--data-dir",
        directory.path,
        flag,
        missing,
        ...partner,
        ...key,
      );
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(ONE_SENTENCE);
      expect(stderr).toContain(missing);
    },
  );

  test("for a file that is not a certificate, or a token file that is not CSV, is reported in one sentence", async () => {
    using directory = disposableDirectory();
    const garbage = join(directory.path, "garbage");
    writeFileSync(garbage, 'neither "a certificate, nor\n');
    const serve = ["serve", "--secure-port", "0", "--data-dir", directory.path];
    const certificate = await ended(...serve, "--tls-cert-file", garbage, "--tls-private-key-file", garbage);
    expect(certificate).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
    const files = (file: string): string[] =>
      ["--peer-ca-file", "--proxy-client-cert-file", "--proxy-client-key-file"].flatMap((flag) => [flag, file]);
    for (const file of [garbage, `${garbage}-absent`]) {
      const peers = await ended(...serve, ...files(file));
      expect(peers).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
    }
    const tokens = await ended(...serve, "--token-auth-file", garbage);
    expect(tokens).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
    const etcd = ["--etcd-servers=https://127.0.0.1:1", "--etcd-certfile", garbage, "--etcd-keyfile", garbage];
    for (const flags of [etcd, ["--peer-ca-file", garbage], ["--tls-sni-cert-key", `${garbage},${garbage}`]]) {
      const { code, stderr } = await ended(...serve, ...flags);
      expect({ flags, code }).toEqual({ flags, code: 1 });
      expect(stderr).toMatch(ONE_SENTENCE);
      expect(stderr).toContain(garbage);
    }
    expect(readdirSync(directory.path)).toEqual(["garbage"]);
  });

  test("for a port in use, an address of another machine, or a data directory that is a file, is reported in one sentence", async () => {
    using directory = disposableDirectory();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    try {
      const { port } = taken.address() as AddressInfo;
      const onTaken = await ended("serve", "--data-dir", directory.path, "--secure-port", String(port));
      expect(onTaken).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
      expect(onTaken.stderr).toContain(`port ${port}`);
    } finally {
      taken.close();
    }
    const elsewhere = await ended(
      "serve",
      "--data-dir",
      directory.path,
      "--secure-port",
      "0",
      "--bind-address",
      "192.0.2.1",
    );
    expect(elsewhere).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("192.0.2.1") });
    const file = join(directory.path, "file");
    writeFileSync(file, "");
    const onFile = await ended("serve", "--secure-port", "0", "--data-dir", file);
    expect(onFile).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
  });

  test("for a data directory that another server uses is reported in one sentence, and that server keeps serving", async () => {
    await using server = await startEvenkeel();
    const second = await ended("serve", "--secure-port", "0", "--data-dir", server.dataDir);
    expect(second).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
    expect(second.stderr).toContain(server.dataDir);
    expect((await server.request("GET", "/readyz")).status).toBe(200);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});
