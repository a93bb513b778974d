/**
 * The context that every row of the benchmark's result needs: the options, the CPU cores, the load generator and the
 * floor (a plain Node server that returns the same bytes as our server, see floor-server.ts).
 */
import type { ServingCertificate } from "../src/serving/http/node/serving-certificate.ts";
import type { FetchResult, RequestShape } from "./client/protocol.ts";
import type { Cores } from "./cores.ts";
import type { FloorResponse } from "./floor-server.ts";
import type { LoadClient } from "./load-client.ts";
import { LIST_COUNT, LIST_NAMESPACE, podText, WRITE_NAMESPACE } from "./objects.ts";
import type { BenchOptions } from "./options.ts";
import { type Floor, type RunningServer, TOKEN } from "./servers.ts";

export interface BenchContext {
  readonly options: BenchOptions;
  readonly cores: Cores | undefined;
  readonly certificate: ServingCertificate;
  readonly client: LoadClient;
  readonly floor: Floor;
}

/** A server that has been filled with objects, and its store. */
export interface Subject {
  readonly store: "embedded" | "etcd";
  readonly server: RunningServer;
  readonly etcdPid: number | undefined;
}

const FILL_CONNECTIONS = 16;

/** Creates the namespaces, and the pods that the rows for get and list read. */
export async function fill({ client }: BenchContext, { server }: Subject): Promise<void> {
  const name = "fill";
  await client.open({ name, protocol: "http/1.1", port: server.port, connections: FILL_CONNECTIONS, token: TOKEN });
  for (const namespace of [LIST_NAMESPACE, WRITE_NAMESPACE]) {
    const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await client.fetch(name, { method: "POST", path: "/api/v1/namespaces", body, expectStatus: 201 });
  }
  const request = createRequest(LIST_NAMESPACE);
  await client.run({
    name,
    request,
    count: LIST_COUNT,
    concurrency: FILL_CONNECTIONS,
    firstNumber: 0,
    numbers: LIST_COUNT,
  });
  await client.close(name);
}

export function createRequest(namespace: string): RequestShape {
  return { method: "POST", path: `/api/v1/namespaces/${namespace}/pods`, body: podText(namespace), expectStatus: 201 };
}

/**
 * Sends a request to our server and configures the floor to return the same response, including headers, at the given
 * path.
 */
export async function setFloorResponse(
  context: BenchContext,
  subject: Subject,
  what: { request: RequestShape; path: string; isWrite?: boolean },
): Promise<void> {
  const { client, floor } = context;
  await client.open({ name: "teach", protocol: "http/1.1", port: subject.server.port, connections: 1, token: TOKEN });
  const fetched = await client.fetch("teach", what.request);
  await client.close("teach");
  const response = toFloorResponse(fetched, what.request.expectStatus);
  // On etcd, the floor does not commit: the row lists the CPU time of etcd separately.
  const work = subject.store === "embedded" ? "commit" : "parse";
  await floor.setResponse(what.path, what.isWrite === true ? { ...response, work } : response);
}

/** Headers that Node adds to the responses of both our server and the floor. */
const ADDED_BY_NODE: ReadonlySet<string> = new Set(["date", "connection", "keep-alive"]);

export function toFloorResponse({ headers, body }: FetchResult, status: number): FloorResponse {
  return { status, headers: headers.filter(([name]) => !ADDED_BY_NODE.has(name)), body };
}
