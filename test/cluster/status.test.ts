import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../../src/serving/http/node/certificate-authority.ts";
import { run, TOKEN } from "../smoke/start-evenkeel.ts";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

/** Short leases, so that a crashed server departs within seconds. */
const FLAGS = [
  ...["--identity-lease-duration", "4s"],
  ...["--identity-lease-renew-interval", "500ms"],
  ...["--fence-after", "2s"],
  ...["--peer-endpoint-ttl", "4s"],
  ...["--peer-endpoint-refresh", "500ms"],
  "--controllers=",
];

interface Report {
  readonly code: number | null;
  readonly table: string;
}

async function status(cluster: Cluster, member: Member): Promise<Report> {
  const flags = ["--server", member.url, "--token", TOKEN, "--ca-file", join(cluster.directory, "ca.crt")];
  await using command = run("status", ...flags);
  const { code } = await command.exited;
  return { code, table: command.stdout };
}

/** Runs `status` until its result is accepted. Returns all results. */
async function until(ask: () => Promise<Report>, isAccepted: (report: Report) => boolean): Promise<Report[]> {
  const reports: Report[] = [];
  do reports.push(await ask());
  while (!isAccepted(reports.at(-1)!));
  return reports;
}

/** The flags of a server whose serving certificate is signed by a CA that the other servers do not trust. */
function otherCertificate({ directory }: Cluster): string[] {
  const nowMs = Date.now();
  const ca = createAuthority({ commonName: "other-ca", nowMs });
  const hosts = ["kubernetes.default.svc", "127.0.0.1"];
  const { certPem, keyPem } = issueCertificate({ ca, commonName: "c", hosts, usage: "serverAuth", nowMs });
  writeFileSync(join(directory, "other.crt"), certPem);
  writeFileSync(join(directory, "other.key"), keyPem, { mode: 0o600 });
  return ["--tls-cert-file", join(directory, "other.crt"), "--tls-private-key-file", join(directory, "other.key")];
}

test.skipIf(isMissing)(
  "status names the reason why a server is unreachable, lists gone servers, and exits with 1 for a crashed one until it returns",
  { timeout: 120_000 },
  async () => {
    await using cluster = await openCluster();
    const a = await cluster.start({ id: "a", release: "1.36", flags: FLAGS });
    const b = await cluster.start({ id: "b", release: "1.36", flags: FLAGS });
    const ask = (): Promise<Report> => status(cluster, a);
    const isWhole = ({ code }: Report): boolean => code === 0;
    await until(ask, isWhole);

    const untrusted = "unreachable (TLS: certificate signed by unknown authority)";
    const c = await cluster.start({ id: "c", release: "1.36", flags: [...FLAGS, ...otherCertificate(cluster)] });
    const distrusting = await until(ask, ({ table }) => table.includes(untrusted));
    expect(distrusting.at(-1)!.code).toBe(1);
    expect(a.stderr).toMatch(/peer unreachable.*"c".*TLS: certificate signed by unknown authority/);
    expect((await c.stop()).code).toBe(0);
    const [removed] = (await until(ask, isWhole)).slice(-1);
    const others = "other servers serve all of its resources.";
    expect(removed!.table).toMatch(
      new RegExp(`^Departed: c \\(1.36\\), gone \\d+ s ago after a shutdown; ${others}$`, "m"),
    );

    await b.kill9();
    const crashed = new RegExp(`^Departed: b \\(1.36\\), gone \\d+ s ago without a shutdown; ${others}$`, "m");
    const reports = await until(ask, ({ table }) => crashed.test(table));
    expect(reports.some(({ table }) => table.includes("unreachable (connection refused)"))).toBe(true);
    const noticed = reports.slice(reports.findIndex(({ code }) => code !== 0));
    expect(noticed.length).toBeGreaterThan(1);
    expect(noticed.map(({ code }) => code)).toEqual(noticed.map(() => 1));

    await cluster.start({ id: "b", release: "1.36", flags: FLAGS });
    const [returned] = (await until(ask, isWhole)).slice(-1);
    expect(returned!.table).not.toMatch(/Departed: .*\bb\b/);
  },
);
