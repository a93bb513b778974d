import { describe, expect, test } from "vitest";
import { decideGarbage, type Circumstances } from "./decide.ts";
import type { OwnerState } from "./owner-lookup.ts";
import { wait } from "./wait.ts";

const LIVING: OwnerState = { kind: "present", deletion: "none" };
const IN_FOREGROUND: OwnerState = { kind: "present", deletion: "foreground" };
const ABSENT: OwnerState = { kind: "absent" };
const WAIT = wait("unavailable", 1_000, "nobody answers");

/** The circumstances of an object whose owners a, b, c … have these states. */
function circumstances(states: readonly OwnerState[], more: Partial<Circumstances> = {}): Circumstances {
  const owners = states.map((state, index) => ({ owner: { uid: "abc"[index]! }, state }));
  return { owners, finalizers: [], hasDependents: false, hasDependentInForeground: false, ...more };
}

describe("an object", () => {
  test("without owners is kept", () => {
    expect(decideGarbage(circumstances([]))).toEqual({ kind: "keep" });
  });

  test("whose owners exist is kept, also if one of them is being deleted but not in the foreground", () => {
    expect(decideGarbage(circumstances([LIVING, LIVING]))).toEqual({ kind: "keep" });
    expect(decideGarbage(circumstances([{ kind: "present", deletion: "plain" }]))).toEqual({ kind: "keep" });
    expect(decideGarbage(circumstances([{ kind: "present", deletion: "orphan" }]))).toEqual({ kind: "keep" });
  });

  test("with an existing owner loses its references to owners that are absent or wait for its deletion", () => {
    expect(decideGarbage(circumstances([ABSENT, LIVING, IN_FOREGROUND]))).toEqual({
      kind: "disown",
      uids: new Set(["a", "c"]),
    });
  });

  test("is kept while the state of one owner is unknown, whatever the state of the others", () => {
    expect(decideGarbage(circumstances([ABSENT, WAIT, ABSENT]))).toEqual(WAIT);
    expect(decideGarbage(circumstances([LIVING, WAIT]))).toEqual(WAIT);
  });

  test("with an invalid owner reference is always kept", () => {
    expect(decideGarbage(circumstances([ABSENT, { kind: "impossible" }]))).toEqual({ kind: "keep" });
  });
});

describe("an object whose owners are all gone", () => {
  const decided = (states: readonly OwnerState[], more: Partial<Circumstances> = {}): unknown =>
    decideGarbage(circumstances(states, more));

  test("is deleted with the propagation policy that its own finalizers request", () => {
    expect(decided([ABSENT])).toEqual({ kind: "delete", policy: "Background", unblocks: false });
    expect(decided([ABSENT, ABSENT], { finalizers: ["orphan"] })).toMatchObject({ policy: "Orphan" });
    expect(decided([ABSENT], { finalizers: ["x", "foregroundDeletion"] })).toMatchObject({ policy: "Foreground" });
    expect(decided([ABSENT], { hasDependents: true })).toMatchObject({ policy: "Background" });
  });

  test("is deleted in the foreground if an owner is being deleted in the foreground and the object may have dependents", () => {
    expect(decided([IN_FOREGROUND])).toMatchObject({ policy: "Background" });
    expect(decided([IN_FOREGROUND], { hasDependents: true })).toMatchObject({ policy: "Foreground" });
    expect(decided([IN_FOREGROUND, ABSENT], { hasDependents: undefined })).toMatchObject({ policy: "Foreground" });
  });

  test("first stops blocking its owners if it may be part of a circle", () => {
    const more = { hasDependents: true, hasDependentInForeground: true };
    expect(decided([IN_FOREGROUND], more)).toEqual({ kind: "delete", policy: "Foreground", unblocks: true });
  });
});
