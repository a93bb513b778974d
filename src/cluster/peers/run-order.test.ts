import { expect, test } from "vitest";
import type { LiveServer } from "./live-servers.ts";
import { RunOrder } from "./run-order.ts";

function server(incarnation: string, hasRecord = true): LiveServer {
  const record = { id: "b", incarnation } as LiveServer["record"];
  return {
    ...{ id: "b", incarnation, record: hasRecord ? record : undefined },
    ...{ address: undefined, evidence: "record", release: "1.36" },
  };
}

const newestAfter = (order: RunOrder, ...servers: LiveServer[]): (string | undefined)[] =>
  servers.map((one) => order.newest([one])[0]?.incarnation);

test("a run that was replaced does not become the current run again", () => {
  const order = new RunOrder();
  expect(newestAfter(order, server("1"), server("2"), server("1"), server("2"))).toEqual(["1", "2", "2", "2"]);
  expect(newestAfter(order, server("3"), server("1"), server("2"))).toEqual(["3", "3", "3"]);
});

test("the run that an identity lease shows does not count, because any client can write the lease", () => {
  const order = new RunOrder();
  expect(newestAfter(order, server("1"), server("2", false), server("1"))).toEqual(["1", "2", "1"]);
});
