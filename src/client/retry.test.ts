import { describe, expect, test } from "vitest";
import { decideRetry, retryAfterSeconds, type FailedAttempt } from "./retry.ts";
import type { TransportFailure } from "./transport.ts";

const GIVE_UP = { retry: false };

function answered(status: number, retryAfter: string | undefined, more: Partial<FailedAttempt> = {}): FailedAttempt {
  return {
    attempt: 1,
    method: "GET",
    isWatch: false,
    isBodyReplayable: true,
    outcome: { status, retryAfter },
    ...more,
  };
}

function failed(failure: TransportFailure, more: Partial<FailedAttempt> = {}): FailedAttempt {
  return { attempt: 1, method: "GET", isWatch: false, isBodyReplayable: true, outcome: { failure }, ...more };
}

describe("answers", () => {
  test.each([429, 500, 502, 503, 504, 599])("%i with Retry-After is asked again after that many seconds", (code) => {
    expect(decideRetry(answered(code, "7"))).toEqual({ retry: true, waitMs: 7_000 });
  });

  test.each([429, 500, 503])("%i without Retry-After is final", (code) => {
    expect(decideRetry(answered(code, undefined))).toEqual(GIVE_UP);
  });

  test.each([301, 400, 404, 408, 409, 410, 422])("%i is final, whatever Retry-After says", (code) => {
    expect(decideRetry(answered(code, "1"))).toEqual(GIVE_UP);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "a %s is asked again too: the server has said that it did nothing",
    (method) => {
      expect(decideRetry(answered(429, "1", { method }))).toEqual({ retry: true, waitMs: 1_000 });
    },
  );

  test("the opening of a watch is asked again too", () => {
    expect(decideRetry(answered(429, "1", { isWatch: true }))).toEqual({ retry: true, waitMs: 1_000 });
  });

  test("Retry-After: 0 is asked again at once", () => {
    expect(decideRetry(answered(503, "0"))).toEqual({ retry: true, waitMs: 0 });
  });

  test("there are ten retries, and not eleven", () => {
    expect(decideRetry(answered(429, "1", { attempt: 10 }))).toEqual({ retry: true, waitMs: 1_000 });
    expect(decideRetry(answered(429, "1", { attempt: 11 }))).toEqual(GIVE_UP);
    expect(decideRetry(answered(429, "1", { attempt: 1, retriesMax: 0 }))).toEqual(GIVE_UP);
  });

  test("a request whose body is gone is not asked again", () => {
    expect(decideRetry(answered(429, "1", { isBodyReplayable: false }))).toEqual(GIVE_UP);
  });

  test("a server that asks for more than five minutes is not waited for", () => {
    expect(decideRetry(answered(503, "300"))).toEqual({ retry: true, waitMs: 300_000 });
    expect(decideRetry(answered(503, "301"))).toEqual(GIVE_UP);
    expect(decideRetry(answered(503, "99999999999999999999"))).toEqual(GIVE_UP);
  });
});

describe("connections", () => {
  test("a read whose connection broke before the answer is asked again after a second", () => {
    expect(decideRetry(failed("reset"))).toEqual({ retry: true, waitMs: 1_000 });
    expect(decideRetry(failed("reset", { attempt: 11 }))).toEqual(GIVE_UP);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "a %s whose connection broke is not: it may have happened",
    (method) => {
      expect(decideRetry(failed("reset", { method }))).toEqual(GIVE_UP);
    },
  );

  test("a watch whose connection broke is not: whoever watches knows from where to go on", () => {
    expect(decideRetry(failed("reset", { isWatch: true }))).toEqual(GIVE_UP);
  });

  test.each(["refused", "timeout", "aborted", "malformed", "other"] as const)("%s is final", (failure) => {
    expect(decideRetry(failed(failure))).toEqual(GIVE_UP);
  });
});

describe("waiting for a server", () => {
  test.each(["GET", "POST", "DELETE"])(
    "a %s that nobody was there for is tried again soon: nothing was sent",
    (method) => {
      expect(decideRetry(failed("refused", { method, waitForServerMs: 60_000 }))).toEqual({ retry: true, waitMs: 500 });
      expect(decideRetry(failed("refused", { method, waitForServerMs: 120 }))).toEqual({ retry: true, waitMs: 120 });
      expect(decideRetry(failed("refused", { method, waitForServerMs: 0 }))).toEqual(GIVE_UP);
    },
  );

  test("it is the time that bounds it, not the number of retries", () => {
    const more = { attempt: 11, retriesMax: 0, waitForServerMs: 60_000 };
    expect(decideRetry(failed("refused", more))).toEqual({ retry: true, waitMs: 500 });
    expect(decideRetry(failed("reset", more))).toEqual(GIVE_UP);
  });

  test("a body that is gone cannot be sent to whoever comes", () => {
    expect(decideRetry(failed("refused", { isBodyReplayable: false, waitForServerMs: 60_000 }))).toEqual(GIVE_UP);
  });
});

test.each(["", "-1", "1.5", "soon", "Wed, 21 Oct 2030 07:28:00 GMT", " 1"])("Retry-After %j is none", (header) => {
  expect(retryAfterSeconds(header)).toBeUndefined();
});
