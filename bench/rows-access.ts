/**
 * Measures RBAC authorization: a GET by a user of a server with ten thousand role bindings, compared with AlwaysAllow.
 */
import { fill, type BenchContext, type Subject } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { LIST_COUNT, LIST_NAMESPACE, NUMBER_MARK } from "./objects.ts";
import { measureRounds } from "./rounds.ts";
import { atMost, type Row } from "./row.ts";
import { startServer, temporaryDirectory, TOKEN, type RunningServer } from "./servers.ts";

const BINDINGS = 10_000;
const RATIO_MAX = 1.15;
const FILL_CONNECTIONS = 16;
const USER_TOKEN = "evenkeel-bench-user";
const USER = "jane";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

export async function accessRows(context: BenchContext): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const start = async (flags: readonly string[]): Promise<RunningServer> => {
    const directory = temporaryDirectory();
    stack.defer(() => directory.remove());
    const users = [`${USER_TOKEN},${USER},${USER},"devs,ops"`];
    const server = await startServer({ core: context.cores?.server, dataDirectory: directory.path, flags, users });
    stack.defer(() => server.stop());
    await fill(context, subjectOf(server));
    return server;
  };
  const floor = await start(["--authorization-mode=AlwaysAllow", "--anonymous-auth=true"]);
  const ours = await start([]);
  await bind(context, ours);
  const { client, options } = context;
  const request: RequestShape = {
    method: "GET",
    path: `/api/v1/namespaces/${LIST_NAMESPACE}/pods/pod-${NUMBER_MARK}`,
    expectStatus: 200,
  };
  const scaled = (count: number): number => Math.max(1, Math.round(count * options.scale));
  const measured = await measureRounds({
    ...{ client, rounds: options.rounds, protocol: "http/1.1", connections: 32, concurrency: 32, token: USER_TOKEN },
    ...{ count: scaled(20_000), warmUp: scaled(10_000), numbers: LIST_COUNT },
    floor: { pids: [floor.pid], port: floor.port, request },
    ours: { pids: [ours.pid], port: ours.port, request },
  });
  const target = atMost(measured.ratio.median, RATIO_MAX, `≤ ${RATIO_MAX}×`);
  const title = "GET 3 KB with RBAC and 10,000 bindings / AlwaysAllow";
  const { floor: allowed, ours: decided, ratio, wall } = measured;
  return [{ id: "access/get", title, unit: "CPU µs/request", floor: allowed, ours: decided, ratio, wall, target }];
}

function subjectOf(server: RunningServer): Subject {
  return { store: "embedded", server, etcdPid: undefined };
}

/** Creates role bindings in one namespace: one for the user, the others for other users. */
async function bind({ client, options }: BenchContext, { port }: RunningServer): Promise<void> {
  const name = "bind";
  await client.open({ name, protocol: "http/1.1", port, connections: FILL_CONNECTIONS, token: TOKEN });
  const roles = `${RBAC}/namespaces/${LIST_NAMESPACE}`;
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }];
  const role = { apiVersion, kind: "Role", metadata: { name: "reader" }, rules };
  await client.fetch(name, { method: "POST", path: `${roles}/roles`, body: JSON.stringify(role), expectStatus: 201 });
  const binding = (of: string, user: string): string =>
    JSON.stringify({
      apiVersion,
      kind: "RoleBinding",
      metadata: { name: of },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
    });
  const path = `${roles}/rolebindings`;
  await client.fetch(name, { method: "POST", path, body: binding("own", USER), expectStatus: 201 });
  const count = Math.max(1, Math.round((BINDINGS - 1) * options.scale));
  const body = binding(`of-${NUMBER_MARK}`, `user-${NUMBER_MARK}`);
  const request: RequestShape = { method: "POST", path, body, expectStatus: 201 };
  await client.run({ name, request, count, concurrency: FILL_CONNECTIONS, firstNumber: 0, numbers: count });
  await client.close(name);
}
