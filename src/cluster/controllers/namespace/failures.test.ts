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
  test("proves that an object is absent only if a server has looked it up", () => {
    expect(isAbsent(ABSENT)).toBe(true);
    expect(isAbsent(unknownResource())).toBe(false);
    expect(isAbsent(new StatusError("NotFound", "404 page not found"))).toBe(false);
    expect(isAbsent(unavailable("no"))).toBe(false);
  });

  test("because the resource is not served counts as unreachable, like a 503", () => {
    expect(isOutOfReach(ABSENT)).toBe(false);
    expect(isOutOfReach(unknownResource())).toBe(true);
    expect(isOutOfReach(unavailable("no"))).toBe(true);
    expect(isOutOfReach(new Error("no"))).toBe(false);
  });
});

describe("the description of a failure", () => {
  test("names the server and the peer, unless the message already does", () => {
    expect(describeFailure(unavailable("batch/v1, jobs is served by server-b, which cannot be reached"))).toBe(
      "batch/v1, jobs is served by server-b, which cannot be reached (server server-a)",
    );
    expect(describeFailure(unavailable("no"))).toBe("no (server server-a, peer server-b)");
  });

  test("is limited in length, whatever was thrown", () => {
    expect(describeFailure("odd")).toBe("odd");
    expect(describeFailure(new Error("x".repeat(10_000))).length).toBeLessThan(500);
  });
});
