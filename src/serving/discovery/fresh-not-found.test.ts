import { expect, test } from "vitest";
import type { WithUser } from "../../access/auth/user.ts";
import { NO_BODY, type ApiResponse } from "../http/message.ts";
import { StatusError, unknownResource } from "../../meta/status-error.ts";
import { freshBeforeNotFound } from "./fresh-not-found.ts";

const REQUEST = {} as WithUser;

function answer(status: number): ApiResponse {
  return { status, headers: {}, body: NO_BODY };
}

async function codeOf(answering: () => ApiResponse | Promise<ApiResponse> | undefined): Promise<number | undefined> {
  try {
    return (await answering())?.status;
  } catch (thrown) {
    return StatusError.from(thrown).code;
  }
}

interface Example {
  readonly responses: readonly (() => ApiResponse | undefined)[];
  readonly isCaughtUp?: boolean;
  readonly expected: number | undefined;
  /** Number of times the server catches up. */
  readonly catchUps: number;
}

test.each<[string, Example]>([
  ["a response other than 404 is returned at once", { responses: [() => answer(200)], expected: 200, catchUps: 0 }],
  ["a path of another handler is passed on", { responses: [() => undefined], expected: undefined, catchUps: 0 }],
  [
    "a resource of a server that has just joined is found",
    { responses: [() => answer(404), () => answer(200)], expected: 200, catchUps: 1 },
  ],
  [
    "a resource of a server that has just joined is found after a thrown 404",
    { responses: [throwNotFound, () => answer(200)], expected: 200, catchUps: 1 },
  ],
  [
    "404 is returned if no server has joined",
    { responses: [throwNotFound, throwNotFound], expected: 404, catchUps: 1 },
  ],
  [
    "503 is returned if the server cannot catch up",
    { responses: [() => answer(404)], isCaughtUp: false, expected: 503, catchUps: 1 },
  ],
])("%s", async (_what, { responses, isCaughtUp = true, expected, catchUps }) => {
  let asked = 0;
  let looked = 0;
  const catchUp = (): Promise<boolean> => {
    looked++;
    return Promise.resolve(isCaughtUp);
  };
  const handler = freshBeforeNotFound(() => responses[asked++]!(), catchUp);
  expect([await codeOf(() => handler(REQUEST)), looked]).toEqual([expected, catchUps]);
});

function throwNotFound(): never {
  throw unknownResource();
}
