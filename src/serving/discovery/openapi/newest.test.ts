import { describe, expect, test } from "vitest";
import { isReason } from "../../../meta/status-error.ts";
import {
  type OpenApiReply,
  createCluster,
  respondingWith,
  type Cluster,
} from "../../../../test/testing/serving/discovery/openapi/cluster.ts";

/** OLD is served up to 1.31, NEW since 1.34. */
const OLD = "apis/flowcontrol.apiserver.k8s.io/v1beta3";
const NEW = "apis/resource.k8s.io/v1";
const PROTOBUF = { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" };

const mixed = (): Cluster => createCluster({ a: "1.29", b: "1.31", c: "1.36" }, { mode: "newest" });

const seen = ({ status, headers, text }: OpenApiReply): unknown[] => [status, headers["etag"], text];

async function urlOf(cluster: Cluster, id: string, path: string): Promise<string> {
  const index = JSON.parse((await cluster.getAsPeer(id, "/openapi/v3")).text) as {
    readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  };
  return index.paths[path]!.serverRelativeURL;
}

const rejection = (response: Promise<OpenApiReply>): Promise<unknown> =>
  response.then(
    ({ status }) => status,
    (thrown: unknown) => thrown,
  );

describe("in OpenAPI mode newest, on every server,", () => {
  test.each(["/openapi/v3", `/openapi/v3/${NEW}`, "/openapi/v2"])(
    "%s equals the document of the newest server, including its ETag",
    async (url) => {
      const cluster = mixed();
      const newest = seen(await cluster.getAsPeer("c", url));
      for (const id of ["a", "b", "c"]) expect(seen(await cluster.get(id, url))).toEqual(newest);
    },
  );

  test("OpenAPI 2 in protobuf equals the document of the newest server", async () => {
    const cluster = mixed();
    const newest = await cluster.getAsPeer("c", "/openapi/v2", PROTOBUF);
    for (const id of ["a", "b"])
      expect((await cluster.get(id, "/openapi/v2", PROTOBUF)).bytes.equals(newest.bytes)).toBe(true);
  });

  test("a document that only older servers have is not found for clients, but the older server returns it to peers", async () => {
    const cluster = mixed();
    for (const id of ["a", "b", "c"]) expect((await cluster.get(id, `/openapi/v3/${OLD}`)).status).toBe(404);
    expect((await cluster.getAsPeer("a", `/openapi/v3/${OLD}`)).status).toBe(200);
  });

  test("a request with the ETag of the index returns 304", async () => {
    const cluster = mixed();
    const { headers } = await cluster.get("a", "/openapi/v3");
    const again = await cluster.get("a", "/openapi/v3", { "if-none-match": String(headers["etag"]) });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});

describe("if the newest server does not respond", () => {
  test("the documents of the next newest server are shown, and finally those of the local server", async () => {
    const cluster = mixed();
    cluster.cut.add("c");
    const next = await cluster.getAsPeer("b", "/openapi/v3");
    expect(seen(await cluster.get("a", "/openapi/v3"))).toEqual(seen(next));
    expect((await cluster.get("a", `/openapi/v3/${OLD}`)).status).toBe(200);
    cluster.cut.add("b");
    expect(seen(await cluster.get("a", "/openapi/v3"))).toEqual(seen(await cluster.getAsPeer("a", "/openapi/v3")));
    expect(seen(await cluster.get("a", "/openapi/v2"))).toEqual(seen(await cluster.getAsPeer("a", "/openapi/v2")));
  });

  test("a document that the newest server lists but does not return comes from the next server or, if no other server has it, is unavailable", async () => {
    const cluster = mixed();
    const both = `/openapi/v3/apis/apps/v1`;
    for (const url of [both, `/openapi/v3/${NEW}`]) cluster.lies.set(`c ${url}`, respondingWith("{}"));
    expect(seen(await cluster.get("a", both))).toEqual(seen(await cluster.getAsPeer("b", both)));
    expect(isReason(await rejection(cluster.get("a", `/openapi/v3/${NEW}`)), "ServiceUnavailable")).toBe(true);
  });

  test("a document that no described server has is unavailable while a live server has not published its discovery document", async () => {
    const cluster = mixed();
    cluster.undescribed.add("c");
    expect(isReason(await rejection(cluster.get("a", `/openapi/v3/${NEW}`)), "ServiceUnavailable")).toBe(true);
  });
});

describe("in OpenAPI mode newest, a request with the hash", () => {
  test("of any server's document returns that document", async () => {
    const cluster = mixed();
    const url = await urlOf(cluster, "b", "apis/apps/v1");
    expect((await cluster.get("a", url)).text).toBe((await cluster.getAsPeer("b", url)).text);
  });

  test("of no server's document is redirected to the document of the newest server", async () => {
    const cluster = mixed();
    const response = await cluster.get("a", "/openapi/v3/apis/apps/v1?hash=ABC");
    expect([response.status, response.headers["location"]]).toEqual([301, await urlOf(cluster, "c", "apis/apps/v1")]);
  });
});
