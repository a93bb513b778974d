/** Tests of proxied requests while the local server or the peer shuts down. */
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { TestCluster, type Member } from "./cluster.ts";

const JOBS = "/apis/batch/v1/namespaces/default/jobs";

function job(name: string): object {
  const spec = { restartPolicy: "Never", containers: [{ name: "main", image: "main" }] };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: { template: { spec } } };
}

/** Starts two servers. `source` does not serve jobs, so it proxies requests for them to `destination`. */
async function startBoth(cluster: TestCluster): Promise<{ source: Member; destination: Member }> {
  const source = await cluster.start({ id: "source", runtimeConfig: "batch/v1=false" });
  const options = { shutdown: { sendRetryAfter: true, delayMs: 100 } };
  const destination = await cluster.start({ id: "destination", options });
  await source.knows("destination");
  return { source, destination };
}

/** Waits until the stream has ended, and returns whether the body is complete. */
function ended(message: IncomingMessage): Promise<{ isComplete: boolean; lines: string[] }> {
  let text = "";
  message.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  message.on("error", () => {});
  return new Promise((resolve) => {
    message.on("close", () => resolve({ isComplete: message.complete, lines: text.split("\n") }));
  });
}

test.each(["source", "destination"] as const)("a proxied watch ends cleanly when the %s shuts down", async (which) => {
  await using cluster = new TestCluster();
  const members = await startBoth(cluster);
  const { source } = members;
  const watch = await source.open(`${JOBS}?watch=true`);
  const end = ended(watch);
  expect(watch.headers["x-evenkeel-served-by"]).toMatch(/^destination /);
  expect((await source.call(JOBS, { method: "POST", body: job("seen") })).status).toBe(201);
  await members[which].stop();
  const { isComplete, lines } = await end;
  expect([isComplete, lines.length, JSON.parse(lines[0]!).object.metadata.name]).toEqual([true, 2, "seen"]);
});

test("a write that is proxied to a server that shuts down is executed or rejected with 503, and no acknowledged write is lost", async () => {
  await using cluster = new TestCluster();
  const { source, destination } = await startBoth(cluster);
  let isStopped = false;
  const stopping = destination.stop().then(() => (isStopped = true));
  const created: string[] = [];
  const refusals = new Set<string>();
  for (let count = 0; !isStopped; count++) {
    const name = `job-${count}`;
    const { status, headers } = await source.call(JOBS, { method: "POST", body: job(name) });
    if (status === 201) created.push(name);
    else refusals.add(`${status} ${headers["retry-after"] === undefined ? "for ever" : "for now"}`);
  }
  await stopping;
  expect([...refusals].filter((kind) => kind !== "503 for now")).toEqual([]);
  const again = await cluster.start({ id: "again" });
  const { body } = await again.get(JOBS);
  expect(body.items.map((item: { metadata: { name: string } }) => item.metadata.name).toSorted()).toEqual(
    created.toSorted(),
  );
});
