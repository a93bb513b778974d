import { expect, test } from "vitest";
import { explanationText } from "./explain-route.ts";

test("an explanation says what was understood, for which client, and who answers in which order", () => {
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
    "understood as: list pods of v1 by a client of 1.36",
    "asked: a (1.35)",
    "answer: by b or c, else d, else a",
    "rule: peer-fits-client",
    "A sentence.",
    "reason: A reason.",
    "",
  ]);
});
