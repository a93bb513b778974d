/**
 * Measures typical writes of kubectl and controllers: create, patch and apply a Deployment, and apply it again
 * unchanged.
 */
import { setFloorResponse, type BenchContext, type Subject } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { deploymentName, deploymentText, NUMBER_MARK, WRITE_NAMESPACE } from "./objects.ts";
import { measureRounds } from "./rounds.ts";
import type { Row } from "./row.ts";

const COLLECTION = `/apis/apps/v1/namespaces/${WRITE_NAMESPACE}/deployments`;
const OBJECT = `${COLLECTION}/${deploymentName(NUMBER_MARK)}`;
/** The number of the object whose response the floor returns; no round uses it. */
const TAUGHT = "99999999";
const COUNT = 1_000;

export interface Write {
  readonly id: string;
  readonly title: string;
  readonly request: RequestShape;
}

/** Measured in this order, because each write changes the objects that the previous one has written. */
export const DEPLOYMENT_WRITES: readonly Write[] = [
  {
    id: "create-deployment",
    title: "create a Deployment",
    request: { method: "POST", path: COLLECTION, body: deploymentText("v1"), expectStatus: 201 },
  },
  {
    id: "strategic-patch",
    title: "strategic patch of a Deployment",
    request: {
      method: "PATCH",
      path: OBJECT,
      contentType: "application/strategic-merge-patch+json",
      body: JSON.stringify({
        spec: { template: { spec: { containers: [{ name: "web", image: "registry.example/team/web:v2" }] } } },
      }),
      expectStatus: 200,
    },
  },
  applied("apply", "apply a Deployment, changed", deploymentText("v3")),
  applied("apply-same", "apply a Deployment, unchanged", deploymentText("v3")),
];

function applied(id: string, title: string, body: string): Write {
  const path = `${OBJECT}?fieldManager=bench&force=true`;
  return {
    id,
    title,
    request: { method: "PATCH", path, contentType: "application/apply-patch+yaml", body, expectStatus: 200 },
  };
}

export async function deploymentRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const rows: Row[] = [];
  for (const write of DEPLOYMENT_WRITES) rows.push(await writeRow(context, subject, write));
  return rows;
}

/** Configures the floor to return, and to store, the response for an object whose number no round uses. */
export async function setFloorWrite(context: BenchContext, subject: Subject, { id, request }: Write): Promise<void> {
  const numbered = (text: string): string => text.replaceAll(NUMBER_MARK, TAUGHT);
  const taught = { ...request, path: numbered(request.path), body: numbered(request.body!) };
  await setFloorResponse(context, subject, { request: taught, path: id, isWrite: true });
}

async function writeRow(context: BenchContext, subject: Subject, { id, title, request }: Write): Promise<Row> {
  const { client, floor, options } = context;
  await setFloorWrite(context, subject, { id, title, request });
  const count = Math.max(1, Math.round(COUNT * options.scale));
  const {
    floor: below,
    ours,
    ratio,
    wall,
  } = await measureRounds({
    client,
    rounds: options.rounds,
    protocol: "http/1.1",
    connections: 16,
    concurrency: 16,
    count,
    warmUp: count,
    floor: { pids: [floor.pid], port: floor.port, request: { ...request, path: `/${id}` } },
    ours: { pids: [subject.server.pid], port: subject.server.port, request },
  });
  const { store } = subject;
  return { id: `${id}/${store}`, title: `${title}, ${store}`, unit: "CPU µs/request", floor: below, ours, ratio, wall };
}
