import { expect, test } from "vitest";
import { explanationText } from "./explain-route.ts";

test("an explanation shows the parsed request, the release of the client, and the servers in order of preference", () => {
  const text = explanationText({
    server: { id: "a", release: "1.35" },
    request: {
      ...{ isResourceRequest: true, method: "GET", path: "/api/v1/pods", verb: "list" },
      ...{ group: "", version: "v1", resource: "pods", compatibilityVersion: "1.36" },
    },
    route: {
      ...{ kind: "peer", rule: "peer-fits-client", sentence: "A sentence.", reason: "A reason." },
      candidates: [["b", "c"], ["d"], ["a"]],
    },
  });
  expect(text.split("\n").map((line) => line.trim().replaceAll(/\s{2,}/g, " "))).toEqual([
    "request: GET /api/v1/pods",
    "parsed as: list pods of v1 from a client of 1.36",
    "received by: a (1.35)",
    "result: served by b or c, else d, else a",
    "rule: peer-fits-client",
    "A sentence.",
    "reason: A reason.",
    "",
  ]);
});
