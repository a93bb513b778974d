import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { isReason, StatusError } from "../../meta/status-error.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { createAdmission } from "./admit.ts";
import { attributes, pod } from "../../../test/testing/access/admission/plugins/attributes.ts";

const POD = pod({});
const request = attributes({ object: POD });
const write = { operation: "CREATE", name: "p", object: POD, existing: undefined } as const;

function appending(name: string, letters: string[]): AdmissionPlugin {
  return {
    name,
    handles: (operation) => operation === "CREATE",
    mutate: ({ object }) => ({ ...object, by: `${String(object["by"] ?? "")}${name}` }),
    validate: ({ object }) => void letters.push(`${name}:${String(object?.["by"])}`),
  };
}

describe("createAdmission", () => {
  test("runs all mutations in order, then all validations", async () => {
    const seen: string[] = [];
    const admission = createAdmission([appending("a", seen), appending("b", seen)])(request);
    const admitted = (await admission?.mutate(write)) as JsonObject;
    expect(admitted).toEqual({ ...POD, by: "ab" });
    await admission?.validate({ ...write, object: admitted });
    expect(seen).toEqual(["a:ab", "b:ab"]);
  });

  test("keeps the object if the only plugin returns undefined", async () => {
    const admission = createAdmission([{ name: "a", handles: () => true, mutate: () => undefined }])(request);
    expect(await admission?.mutate(write)).toBe(POD);
  });

  test("returns undefined for a request that no plugin handles, and calls `handles` only for the first request", () => {
    let asked = 0;
    const admit = createAdmission([{ name: "a", handles: () => asked++ < 0 }]);
    expect([admit(request), admit(request)]).toEqual([undefined, undefined]);
    expect(asked).toBe(4);
  });

  test("does not call a plugin for operations that it does not handle", async () => {
    const seen: string[] = [];
    const admission = createAdmission([appending("a", seen)])(request);
    await admission?.validate({ operation: "DELETE", name: "p", object: undefined, existing: POD });
    expect(seen).toEqual([]);
  });

  test("calls `handles` for every request and every write if the plugin has handlesChange", async () => {
    let isInterested = false;
    const mutate = (): JsonObject => ({ changed: true });
    const admit = createAdmission([{ name: "a", handlesChange: true, handles: () => isInterested, mutate }]);
    expect(admit(request)).toBeUndefined();
    isInterested = true;
    const admission = admit(request);
    expect(await admission?.mutate(write)).toEqual({ changed: true });
    isInterested = false;
    expect(await admission?.mutate(write)).toBe(POD);
  });

  test("passes a StatusError on, and hides other errors behind an internal error", async () => {
    const rejecting = (thrown: unknown): AdmissionPlugin => ({
      name: "a",
      handles: () => true,
      validate: () => {
        throw thrown;
      },
    });
    const rejection = new StatusError("Forbidden", "no");
    await expect(createAdmission([rejecting(rejection)])(request)?.validate(write)).rejects.toBe(rejection);
    const failure = createAdmission([rejecting(new Error("a secret"))])(request)?.validate(write);
    await expect(failure).rejects.toSatisfy(
      (thrown) => isReason(thrown, "InternalError") && !thrown.message.includes("secret"),
    );
  });
});
