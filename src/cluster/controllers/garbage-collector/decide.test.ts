import { describe, expect, test } from "vitest";
import { decideGarbage, type Circumstances } from "./decide.ts";
import type { OwnerState } from "./owner-lookup.ts";
import { wait } from "./wait.ts";

const LIVING: OwnerState = { kind: "present", deletion: "none" };
const IN_FOREGROUND: OwnerState = { kind: "present", deletion: "foreground" };
const ABSENT: OwnerState = { kind: "absent" };
const WAIT = wait("unavailable", 1_000, "nobody answers");

/** Owners are called a, b, c. */
function circumstances(states: readonly OwnerState[], more: Partial<Circumstances> = {}): Circumstances {
  const owners = states.map((state, index) => ({ owner: { uid: "abc"[index]! }, state }));
  return { owners, finalizers: [], hasDependents: false, hasDependentInForeground: false, ...more };
}

describe("an object", () => {
  test("without owners is nobody's business", () => {
    expect(decideGarbage(circumstances([]))).toEqual({ kind: "keep" });
  });

  test("whose owners live stays as it is, also when one of them is on its way otherwise", () => {
    expect(decideGarbage(circumstances([LIVING, LIVING]))).toEqual({ kind: "keep" });
    expect(decideGarbage(circumstances([{ kind: "present", deletion: "plain" }]))).toEqual({ kind: "keep" });
    expect(decideGarbage(circumstances([{ kind: "present", deletion: "orphan" }]))).toEqual({ kind: "keep" });
  });

  test("with an owner that lives forgets those that are gone or wait for it to go", () => {
    expect(decideGarbage(circumstances([ABSENT, LIVING, IN_FOREGROUND]))).toEqual({
      kind: "disown",
      uids: new Set(["a", "c"]),
    });
  });

  test("is left alone while one owner cannot be asked about, whatever became of the others", () => {
    expect(decideGarbage(circumstances([ABSENT, WAIT, ABSENT]))).toEqual(WAIT);
    expect(decideGarbage(circumstances([LIVING, WAIT]))).toEqual(WAIT);
  });

  test("with an owner that cannot be meant is left alone for good", () => {
    expect(decideGarbage(circumstances([ABSENT, { kind: "impossible" }]))).toEqual({ kind: "keep" });
  });
});

describe("an object whose owners are all gone", () => {
  const decided = (states: readonly OwnerState[], more: Partial<Circumstances> = {}): unknown =>
    decideGarbage(circumstances(states, more));

  test("goes as its own finalizers say", () => {
    expect(decided([ABSENT])).toEqual({ kind: "delete", policy: "Background", unblocks: false });
    expect(decided([ABSENT, ABSENT], { finalizers: ["orphan"] })).toMatchObject({ policy: "Orphan" });
    expect(decided([ABSENT], { finalizers: ["x", "foregroundDeletion"] })).toMatchObject({ policy: "Foreground" });
    expect(decided([ABSENT], { hasDependents: true })).toMatchObject({ policy: "Background" });
  });

  test("goes in the foreground when an owner does and it may have dependents itself", () => {
    expect(decided([IN_FOREGROUND])).toMatchObject({ policy: "Background" });
    expect(decided([IN_FOREGROUND], { hasDependents: true })).toMatchObject({ policy: "Foreground" });
    expect(decided([IN_FOREGROUND, ABSENT], { hasDependents: undefined })).toMatchObject({ policy: "Foreground" });
  });

  test("stops blocking its owners first when it may be part of a circle", () => {
    const more = { hasDependents: true, hasDependentInForeground: true };
    expect(decided([IN_FOREGROUND], more)).toEqual({ kind: "delete", policy: "Foreground", unblocks: true });
  });
});
