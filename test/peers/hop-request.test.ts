/**
 * Tests of the request line, headers and identity that a peer receives for a proxied request (§2.1, §9-8, -9, -26,
 * -37).
 */
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startCluster, type Member, type TestCluster } from "./cluster.ts";
import { PROXY_NAME } from "./credentials.ts";
import { EXTRA_GROUP, startStub, WIDGETS, type Arrival, type StubPeer } from "./stub-peer.ts";

let cluster: TestCluster;
let member: Member;
let stub: StubPeer;

beforeAll(async () => {
  cluster = await startCluster([{ options: { ifReadyMode: "retry", access: {} } }]);
  ({ member, stub } = await startStub(cluster));
  await letRead(member, ["dev", "a"]);
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(() => void stub.arrivals.splice(0));

function only(): Arrival {
  expect(stub.arrivals).toHaveLength(1);
  return stub.arrivals[0]!;
}

async function letRead(through: Member, groups: readonly string[]): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const metadata = { name: "readers" };
  const role = { metadata, rules: [{ apiGroups: [EXTRA_GROUP], resources: ["widgets"], verbs: ["get", "list"] }] };
  const binding = {
    metadata,
    roleRef: { apiGroup, kind: "ClusterRole", name: metadata.name },
    subjects: groups.map((name) => ({ apiGroup, kind: "Group", name })),
  };
  const made = [
    await through.create(`/apis/${apiGroup}/v1/clusterroles`, role),
    await through.create(`/apis/${apiGroup}/v1/clusterrolebindings`, binding),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201]);
}

/** Sends raw lines that Node's own client would not send. */
async function sendRaw(lines: readonly string[]): Promise<void> {
  const socket = await member.connect();
  socket.write(
    [...lines, "Host: example", "Authorization: Bearer admin-token", "Connection: close", "", ""].join("\r\n"),
  );
  socket.resume();
  await once(socket, "close");
}

describe("the identity of a proxied request", () => {
  test("§8-identity is sent in the X-Remote headers, and the local server authenticates itself by its certificate", async () => {
    expect((await member.call(WIDGETS, { token: "jane-token" })).status).toBe(200);
    const seen = only();
    expect(seen.caller).toBe(PROXY_NAME);
    const utf8 = (text: string): string => Buffer.from(text, "latin1").toString("utf8");
    expect(seen.all("X-Remote-User").map(utf8)).toEqual(["Jäne"]);
    expect(seen.all("X-Remote-Uid")).toEqual(["u-1"]);
    expect(seen.all("X-Remote-Group")).toEqual(["dev", "ops team", "system:authenticated"]);
    expect(seen.all("Authorization")).toEqual([]);
  });

  test("§8-identity has escaped extra keys, and only an authenticated peer or front proxy may send X-Remote headers", async () => {
    const headers = {
      "X-Remote-User": "jane",
      "X-Remote-Group": ["a", "b"],
      "X-Remote-Extra-Example.com%2fScopes": ["one", "two"],
      "X-Remote-Extra-Per%25cent": "x",
    };
    await member.call(WIDGETS, { asProxy: true, token: "", headers });
    const seen = only();
    expect(seen.all("X-Remote-Extra-example.com%2Fscopes")).toEqual(["one", "two"]);
    expect(seen.all("X-Remote-Extra-per%25cent")).toEqual(["x"]);
    expect(seen.all("X-Remote-User")).toEqual(["jane"]);
    expect(seen.all("X-Remote-Group")).toEqual(["a", "b", "system:authenticated"]);
    stub.arrivals.splice(0);
    await member.call(WIDGETS, { headers });
    const names = only().rawHeaders.filter((_value, at) => at % 2 === 0);
    expect(names.filter((name) => /extra/i.test(name))).toEqual([]);
    expect(only().all("X-Remote-User")).toEqual(["admin"]);
    expect(only().all("X-Remote-Group")).toEqual(["system:masters", "system:authenticated"]);
  });

  test("§9-27 must be authorized locally: a request of an anonymous user is rejected and not proxied", async () => {
    const response = await member.call(WIDGETS, { token: "" });
    expect([response.status, response.body.reason]).toEqual([403, "Forbidden"]);
    expect(response.body.message).toContain('User "system:anonymous" cannot list resource "widgets"');
    expect((await member.call(WIDGETS, { token: "wrong" })).status).toBe(401);
    expect(stub.arrivals).toEqual([]);
  });

  test("is that of the impersonated user, without the impersonation headers", async () => {
    const headers = { "Impersonate-User": "peter", "Impersonate-Group": "dev", "Impersonate-Extra-Why": "test" };
    expect((await member.call(WIDGETS, { headers })).status).toBe(200);
    const seen = only();
    expect(seen.all("X-Remote-User")).toEqual(["peter"]);
    expect(seen.all("X-Remote-Group")).toEqual(["dev", "system:authenticated"]);
    expect(seen.all("X-Remote-Extra-why")).toEqual(["test"]);
    expect(seen.rawHeaders.filter((name) => /^impersonate-/i.test(name))).toEqual([]);
  });

  test("must be authorized locally, both for the impersonation and as the impersonated user", async () => {
    const asked = async (token: string, who: string): Promise<unknown> => {
      const { status, body } = await member.call(WIDGETS, { token, headers: { "Impersonate-User": who } });
      return [status, body.message];
    };
    expect(await asked("jane-token", "admin")).toEqual([
      403,
      expect.stringContaining('User "Jäne" cannot impersonate'),
    ]);
    expect(await asked("admin-token", "peter")).toEqual([403, expect.stringContaining('User "peter" cannot list')]);
    expect(stub.arrivals).toEqual([]);
  });
});

describe("the header that prevents a second hop", () => {
  test.each(["true", "foo", "TRUE", "", "true, foo"])(
    "§9-8 §8-guard does not change the route if a client sends %j, and is set exactly once on the proxied request",
    async (value) => {
      const headers = { "X-Kubernetes-Peer-Proxied": value, "x-kubernetes-apiserver-rerouted": value };
      expect((await member.call(WIDGETS, { headers })).status).toBe(200);
      const seen = only();
      expect(seen.all("x-kubernetes-peer-proxied")).toEqual(["true"]);
      expect(seen.all("x-kubernetes-apiserver-rerouted")).toEqual(["true"]);
    },
  );

  test("§9-8 §8-guard and the identity headers cannot be removed by naming them in the Connection header", async () => {
    await sendRaw([
      `GET ${WIDGETS} HTTP/1.1`,
      "Connection: X-Kubernetes-Peer-Proxied, X-Remote-User, X-Kubernetes-APIServer-Rerouted, X-Secret, Audit-ID",
      "X-Secret: 1",
      "X-Kept: 1",
    ]);
    const seen = only();
    expect(seen.all("x-kubernetes-peer-proxied")).toEqual(["true"]);
    expect(seen.all("x-kubernetes-apiserver-rerouted")).toEqual(["true"]);
    expect(seen.all("X-Remote-User")).toEqual(["admin"]);
    expect(seen.all("X-Secret")).toEqual([]);
    expect(seen.all("X-Kept")).toEqual(["1"]);
    expect(seen.all("Audit-ID")).toHaveLength(1);
  });
});

describe("the headers of a proxied request", () => {
  test("do not include the headers of the client's connection", async () => {
    await sendRaw([
      `GET ${WIDGETS} HTTP/1.1`,
      "Keep-Alive: timeout=5",
      "TE: trailers",
      "Proxy-Authorization: Basic x",
      "Proxy-Connection: keep-alive",
      "X-Kubernetes-If-Ready: true",
    ]);
    const seen = only();
    for (const name of ["Keep-Alive", "TE", "Proxy-Authorization", "Proxy-Connection", "X-Kubernetes-If-Ready"])
      expect(seen.all(name)).toEqual([]);
    expect(seen.all("Host")).toEqual([`127.0.0.1:${stub.port}`]);
  });

  test("otherwise arrive as the client sent them, in the same order and with duplicates", async () => {
    await sendRaw([
      `GET ${WIDGETS} HTTP/1.1`,
      "Accept: application/json;as=Table;v=v1;g=meta.k8s.io, application/json",
      "User-Agent: kubectl/v1.36",
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "X-Twice: one",
      "x-twice: two",
      'If-Match: "1"',
    ]);
    const seen = only();
    expect(seen.all("Accept")).toEqual(["application/json;as=Table;v=v1;g=meta.k8s.io, application/json"]);
    expect(seen.all("User-Agent")).toEqual(["kubectl/v1.36"]);
    expect(seen.all("X-Twice")).toEqual(["one", "two"]);
    expect(seen.all("If-Match")).toEqual(['"1"']);
    expect(seen.all("traceparent")).toHaveLength(1);
  });

  test("§9-37 include the client's audit ID or a new one, so that both servers log the same ID", async () => {
    await member.get(WIDGETS, { "Audit-ID": "11111111-2222-3333-4444-555555555555" });
    await member.get(WIDGETS);
    const [given, made] = stub.arrivals.map((seen) => seen.all("Audit-ID"));
    expect(given).toEqual(["11111111-2222-3333-4444-555555555555"]);
    expect(made).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    expect(stub.arrivals.every((seen) => seen.all("x-kubernetes-peer-proxied").length === 1)).toBe(true);
  });

  test("include the client's address in X-Forwarded-For", async () => {
    await member.get(WIDGETS, { "X-Forwarded-For": "10.1.2.3" });
    expect(only().all("X-Forwarded-For")).toEqual(["10.1.2.3, 127.0.0.1"]);
  });
});

describe("the path and query of a proxied request", () => {
  test.each([
    `${WIDGETS}/one/attach/x%2Fy%2fz`,
    `${WIDGETS}/a%3Ab%20c%c3%a4`,
    `${WIDGETS}?z=1&a=2&z=0`,
    `${WIDGETS}?labelSelector=app%3Dweb%2Ctier%21%3Dx&limit=500`,
    `${WIDGETS}?bad=%zz&%=&&=x&novalue&a+b=c+d`,
    `${WIDGETS}?semi=1;colon=2`,
  ])("§9-26 %s arrive unchanged", async (target) => {
    await sendRaw([`GET ${target} HTTP/1.1`]);
    expect(only().url).toBe(target);
  });
});
