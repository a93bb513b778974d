import { describe, expect, test } from "vitest";
import { notFound, StatusError, unknownResource } from "../../../meta/status-error.ts";
import { isAbsent, isOutOfReach, describeFailure } from "./failures.ts";

const ABSENT = notFound({ group: "", resource: "secrets" }, "a");

function unavailable(message: string): StatusError {
  const causes = [
    { field: "server", message: "server-a" },
    { field: "peer", message: "server-b" },
    { field: "rule", message: "peer-unreachable" },
  ];
  return new StatusError("ServiceUnavailable", message, { details: { causes } });
}

describe("a 404", () => {
  test("proves absence only if a server has looked up the object", () => {
    expect(isAbsent(ABSENT)).toBe(true);
    expect(isAbsent(unknownResource())).toBe(false);
    expect(isAbsent(new StatusError("NotFound", "404 page not found"))).toBe(false);
    expect(isAbsent(unavailable("no"))).toBe(false);
  });

  test("that proves nothing counts as unavailable", () => {
    expect(isOutOfReach(ABSENT)).toBe(false);
    expect(isOutOfReach(unknownResource())).toBe(true);
    expect(isOutOfReach(unavailable("no"))).toBe(true);
    expect(isOutOfReach(new Error("no"))).toBe(false);
  });
});

describe("a failure", () => {
  test("names the servers involved, once", () => {
    expect(describeFailure(unavailable("batch/v1, jobs is served by server-b, which cannot be reached"))).toBe(
      "batch/v1, jobs is served by server-b, which cannot be reached (server server-a)",
    );
    expect(describeFailure(unavailable("no"))).toBe("no (server server-a, peer server-b)");
  });

  test("is described in limited length, whatever was thrown", () => {
    expect(describeFailure("odd")).toBe("odd");
    expect(describeFailure(new Error("x".repeat(10_000))).length).toBeLessThan(500);
  });
});
