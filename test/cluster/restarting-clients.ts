/**
 * Runs 200 clients that send X-Kubernetes-If-Ready, so that they wait instead of getting a wrong response. The clients
 * run twice: first from before the start of the servers on an empty store until each client has a response to every
 * request, and then while all servers restart one after the other. Each client uses one server. If this file is run as
 * a program, it prints the responses that the clients got.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { NODE, ROOT } from "../smoke/built.ts";
import { CONFIG_MAPS, configMap } from "../smoke/client.ts";
import { freePorts } from "../smoke/free-ports.ts";
import { runProgram, TOKEN, type Command } from "../smoke/start-evenkeel.ts";
import { DEVICE_CLASSES } from "./load.ts";
import { counted, type WireCounts } from "./restarting-clients-wire.ts";
import { untilReachable } from "./settle.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

export interface Question {
  readonly name?: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
}

export interface ClientsPlan {
  readonly ca: string;
  readonly token: string;
  readonly clients: number;
  /** The URLs of the servers. Each client uses one of them. */
  readonly servers: readonly string[];
  readonly questions: readonly Question[];
  /** The pause between a response and the next request of a client. */
  readonly everyMs: number;
  /** True if the clients continue until SIGTERM; otherwise they end after one response to each request. */
  readonly goesOn: boolean;
}

export interface ClientsReport {
  /** The number of clients that got a response to every request. */
  readonly finished: number;
  readonly asked: number;
  readonly failures: readonly string[];
  readonly wire: WireCounts;
}

export interface Reports {
  readonly before: ClientsReport;
  readonly during: ClientsReport;
  readonly summary: string;
}

export const CLIENTS = 200;
const EVERY_MS = 700;
const SLOW_MS = 1_000;
const FLAGS = ["--startup-send-retry-after-if-not-initialized", "--controllers="];
/** The release of each server. Only b and c serve device classes. */
const RELEASES: Readonly<Record<string, string>> = { a: "1.33", b: "1.36", c: "1.36" };

/** Objects that exist as soon as a server has been ready, because every server creates them. */
const SEEDED: readonly Question[] = [
  { group: "", version: "v1", plural: "namespaces", name: "default" },
  { group: "", version: "v1", plural: "services", namespace: "default", name: "kubernetes" },
  { group: "scheduling.k8s.io", version: "v1", plural: "priorityclasses", name: "system-node-critical" },
];
const MADE: readonly Question[] = [
  { group: "", version: "v1", plural: "configmaps", namespace: "default", name: "made" },
  { group: "resource.k8s.io", version: "v1", plural: "deviceclasses", name: "made" },
  { group: "resource.k8s.io", version: "v1", plural: "deviceclasses" },
];

export async function restartUnderClients(): Promise<Reports> {
  await using cluster = await openCluster();
  const ports = await freePorts(Object.keys(RELEASES).length);
  const servers = ports.map((port) => `https://127.0.0.1:${port}`);
  const plan = { ca: cluster.ca, token: TOKEN, clients: CLIENTS, servers, everyMs: EVERY_MS };
  await using early = startClients({ ...plan, questions: SEEDED, goesOn: false });
  await early.printed(/^asking$/m);
  const members = await startSlowly(cluster, ports);
  const before = await reportOf(early);
  await makeObjects(members);

  await using late = startClients({ ...plan, questions: [...SEEDED, ...MADE], goesOn: true });
  await late.printed(/^asking$/m);
  for (const [index, member] of members.entries()) {
    const { code } = await member.stop();
    if (code !== 0) throw new Error(`${member.id} did not stop cleanly: ${member.stderr}`);
    members[index] = await start(cluster, member.id, member.port);
    // Waits until all servers are reachable before the next restart, as an operator would.
    await untilAllReachable(members);
  }
  late.child.kill("SIGTERM");
  const during = await reportOf(late);
  return {
    before,
    during,
    summary: [summaryOf("before the first server", before), summaryOf("during restarts", during)].join("\n"),
  };
}

/** Starts servers that listen long before they are ready, so that every client calls a server that is not ready. */
async function startSlowly(cluster: Cluster, ports: readonly number[]): Promise<Member[]> {
  cluster.etcd.pause();
  const ids = Object.keys(RELEASES);
  const starting = await Promise.all(
    ids.map((id, index) => cluster.begin({ id, port: ports[index]!, release: RELEASES[id]!, flags: FLAGS })),
  );
  await delay(SLOW_MS);
  cluster.etcd.resume();
  return Promise.all(starting.map(({ ready }) => ready));
}

function start(cluster: Cluster, id: string, port: number): Promise<Member> {
  return cluster.start({ id, port, release: RELEASES[id]!, flags: FLAGS });
}

async function makeObjects(members: readonly Member[]): Promise<void> {
  await untilAllReachable(members);
  const made = [
    await members[0]!.request("POST", CONFIG_MAPS, configMap("made")),
    await members[0]!.request("POST", DEVICE_CLASSES.path, { ...DEVICE_CLASSES.object, metadata: { name: "made" } }),
  ];
  for (const { status, text } of made) if (status !== 201) throw new Error(`${status} ${text}`);
}

async function untilAllReachable(members: readonly Member[]): Promise<void> {
  const others = ({ id }: Member): string[] => members.map((other) => other.id).filter((other) => other !== id);
  await Promise.all(members.map((member) => untilReachable(member, others(member))));
}

function startClients(plan: ClientsPlan): Command {
  return runProgram(NODE, [join(ROOT, "test/cluster/restarting-clients-process.ts"), JSON.stringify(plan)]);
}

async function reportOf(command: Command): Promise<ClientsReport> {
  const { code } = await command.exited;
  const line = command.stdout.split("\n").find((text) => text.startsWith("{"));
  if (code !== 0 || line === undefined) throw new Error(`the clients ended with ${code}: ${command.stderr}`);
  return JSON.parse(line) as ClientsReport;
}

function summaryOf(when: string, { finished, asked, wire }: ClientsReport): string {
  return (
    `${when}: ${finished} clients got all their responses, to ${asked} requests; ` +
    `on the wire ${counted(wire.answers)}; no response ${counted(wire.failures)}; ${wire.wrong.length} wrong`
  );
}

if (import.meta.main) console.info((await restartUnderClients()).summary);
