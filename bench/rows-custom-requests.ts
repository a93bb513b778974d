/**
 * Compares custom resources with Deployments of the same content on the same server: the cost of a CRD's schema
 * compared with a built-in type.
 */
import type { BenchContext } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { customText, DEFINITION_VERSION, RULED_WEB, WEB, type CustomKind } from "./crds.ts";
import { deploymentName, deploymentText, namespaceText, NUMBER_MARK } from "./objects.ts";
import { measureRounds, type RoundsOptions } from "./rounds.ts";
import { atMost, type Row } from "./row.ts";
import { TOKEN, type RunningServer } from "./servers.ts";

const RATIO_MAX = 1.3;
const READ_NAMESPACE = "bench-custom-reads";
const WRITE_NAMESPACE = "bench-custom-writes";
const OBJECTS = 1_000;
const CONNECTIONS = 16;
const FILL = "fill";

type Load = Pick<RoundsOptions, "connections" | "concurrency" | "count" | "warmUp" | "numbers">;

interface Compared {
  readonly id: string;
  readonly title: string;
  readonly floor: RequestShape;
  readonly ours: RequestShape;
  readonly load: Load;
  readonly hasTarget: boolean;
}

export async function customRequestRows(context: BenchContext, server: RunningServer): Promise<Row[]> {
  const objects = scaled(context, OBJECTS);
  await fill(context, server, objects);
  const rows: Row[] = [];
  for (const compared of [...writes(), ...reads(objects)]) rows.push(await compare(context, server, compared));
  return rows;
}

function scaled({ options }: BenchContext, count: number): number {
  return Math.max(1, Math.round(count * options.scale));
}

function deploymentsIn(namespace: string): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}

function customIn({ group, plural }: CustomKind, namespace: string): string {
  return `/apis/${group}/${DEFINITION_VERSION}/namespaces/${namespace}/${plural}`;
}

function created(path: string, body: string): RequestShape {
  return { method: "POST", path, body, expectStatus: 201 };
}

function read(path: string): RequestShape {
  return { method: "GET", path, expectStatus: 200 };
}

function writes(): Compared[] {
  const load = { connections: CONNECTIONS, concurrency: CONNECTIONS, count: 1_000, warmUp: 1_000 };
  const of = (custom: CustomKind): Pick<Compared, "floor" | "ours" | "load"> => ({
    floor: created(deploymentsIn(`${WRITE_NAMESPACE}-${custom.plural}`), deploymentText("v1")),
    ours: created(customIn(custom, `${WRITE_NAMESPACE}-${custom.plural}`), customText(custom, "v1")),
    load,
  });
  return [
    { id: "custom-create", title: "create a custom resource / a Deployment", ...of(WEB), hasTarget: true },
    { id: "custom-create-ruled", title: "  with a CEL rule", ...of(RULED_WEB), hasTarget: false },
  ];
}

function reads(objects: number): Compared[] {
  const deployments = deploymentsIn(READ_NAMESPACE);
  const customs = customIn(WEB, READ_NAMESPACE);
  const name = deploymentName(NUMBER_MARK);
  return [
    {
      id: "custom-get",
      title: "GET a custom resource / a Deployment",
      floor: read(`${deployments}/${name}`),
      ours: read(`${customs}/${name}`),
      load: { connections: 32, concurrency: 32, count: 10_000, warmUp: 5_000, numbers: objects },
      hasTarget: true,
    },
    {
      id: "custom-list",
      title: `LIST ${objects.toLocaleString("en")} custom resources / Deployments`,
      floor: read(deployments),
      ours: read(customs),
      load: { connections: 2, concurrency: 2, count: 100, warmUp: 40 },
      hasTarget: true,
    },
  ];
}

async function fill({ client }: BenchContext, { port }: RunningServer, objects: number): Promise<void> {
  await client.open({ name: FILL, protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
  const written = [WEB, RULED_WEB].map(({ plural }) => `${WRITE_NAMESPACE}-${plural}`);
  for (const namespace of [READ_NAMESPACE, ...written])
    await client.fetch(FILL, created("/api/v1/namespaces", namespaceText(namespace)));
  for (const request of [
    created(deploymentsIn(READ_NAMESPACE), deploymentText("v1")),
    created(customIn(WEB, READ_NAMESPACE), customText(WEB, "v1")),
  ])
    await client.run({
      ...{ name: FILL, request, count: objects, concurrency: CONNECTIONS },
      ...{ firstNumber: 0, numbers: objects },
    });
  await client.close(FILL);
}

async function compare(context: BenchContext, server: RunningServer, compared: Compared): Promise<Row> {
  const { id, title, load, hasTarget } = compared;
  const side = (request: RequestShape): RoundsOptions["ours"] => ({ pids: [server.pid], port: server.port, request });
  const { floor, ours, ratio, wall } = await measureRounds({
    client: context.client,
    rounds: context.options.rounds,
    protocol: "http/1.1",
    ...load,
    count: scaled(context, load.count),
    warmUp: scaled(context, load.warmUp),
    floor: side(compared.floor),
    ours: side(compared.ours),
  });
  const row = { id: `${id}/embedded`, title, unit: "CPU µs/request", floor, ours, ratio, wall };
  return hasTarget ? { ...row, target: atMost(ratio.median, RATIO_MAX, `≤ ${RATIO_MAX}×`) } : row;
}
