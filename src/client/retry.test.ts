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

describe("responses", () => {
  test.each([429, 500, 502, 503, 504, 599])("%i with Retry-After is retried after that many seconds", (code) => {
    expect(decideRetry(answered(code, "7"))).toEqual({ retry: true, waitMs: 7_000 });
  });

  test.each([429, 500, 503])("%i without Retry-After is final", (code) => {
    expect(decideRetry(answered(code, undefined))).toEqual(GIVE_UP);
  });

  test.each([301, 400, 404, 408, 409, 410, 422])("%i is final, with or without Retry-After", (code) => {
    expect(decideRetry(answered(code, "1"))).toEqual(GIVE_UP);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "a %s is retried too if the response has Retry-After, because the server has not executed it",
    (method) => {
      expect(decideRetry(answered(429, "1", { method }))).toEqual({ retry: true, waitMs: 1_000 });
    },
  );

  test("the opening of a watch is retried after Retry-After", () => {
    expect(decideRetry(answered(429, "1", { isWatch: true }))).toEqual({ retry: true, waitMs: 1_000 });
  });

  test("a response with Retry-After: 0 is retried at once", () => {
    expect(decideRetry(answered(503, "0"))).toEqual({ retry: true, waitMs: 0 });
  });

  test("a request is retried ten times at most", () => {
    expect(decideRetry(answered(429, "1", { attempt: 10 }))).toEqual({ retry: true, waitMs: 1_000 });
    expect(decideRetry(answered(429, "1", { attempt: 11 }))).toEqual(GIVE_UP);
    expect(decideRetry(answered(429, "1", { attempt: 1, retriesMax: 0 }))).toEqual(GIVE_UP);
  });

  test("a request whose body cannot be sent again is not retried", () => {
    expect(decideRetry(answered(429, "1", { isBodyReplayable: false }))).toEqual(GIVE_UP);
  });

  test("a request is not retried after a Retry-After of more than five minutes", () => {
    expect(decideRetry(answered(503, "300"))).toEqual({ retry: true, waitMs: 300_000 });
    expect(decideRetry(answered(503, "301"))).toEqual(GIVE_UP);
    expect(decideRetry(answered(503, "99999999999999999999"))).toEqual(GIVE_UP);
  });
});

describe("connections", () => {
  test("a read whose connection broke before the response is retried after a second", () => {
    expect(decideRetry(failed("reset"))).toEqual({ retry: true, waitMs: 1_000 });
    expect(decideRetry(failed("reset", { attempt: 11 }))).toEqual(GIVE_UP);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "a %s whose connection broke is not retried, because it may have been executed",
    (method) => {
      expect(decideRetry(failed("reset", { method }))).toEqual(GIVE_UP);
    },
  );

  test("a watch whose connection broke is not retried, because the caller chooses the resourceVersion to resume from", () => {
    expect(decideRetry(failed("reset", { isWatch: true }))).toEqual(GIVE_UP);
  });

  test.each(["refused", "timeout", "aborted", "malformed", "other"] as const)(
    'the failure "%s" is final',
    (failure) => {
      expect(decideRetry(failed(failure))).toEqual(GIVE_UP);
    },
  );
});

describe("waiting for a server", () => {
  test.each(["GET", "POST", "DELETE"])(
    "a %s whose connection was refused is retried after 500 ms at most, because nothing was sent",
    (method) => {
      expect(decideRetry(failed("refused", { method, waitForServerMs: 60_000 }))).toEqual({ retry: true, waitMs: 500 });
      expect(decideRetry(failed("refused", { method, waitForServerMs: 120 }))).toEqual({ retry: true, waitMs: 120 });
      expect(decideRetry(failed("refused", { method, waitForServerMs: 0 }))).toEqual(GIVE_UP);
    },
  );

  test("retries of refused connections are limited by time, not by number", () => {
    const more = { attempt: 11, retriesMax: 0, waitForServerMs: 60_000 };
    expect(decideRetry(failed("refused", more))).toEqual({ retry: true, waitMs: 500 });
    expect(decideRetry(failed("reset", more))).toEqual(GIVE_UP);
  });

  test("a request whose body cannot be sent again is not retried after a refused connection", () => {
    expect(decideRetry(failed("refused", { isBodyReplayable: false, waitForServerMs: 60_000 }))).toEqual(GIVE_UP);
  });
});

test.each(["", "-1", "1.5", "soon", "Wed, 21 Oct 2030 07:28:00 GMT", " 1"])("Retry-After %j is ignored", (header) => {
  expect(retryAfterSeconds(header)).toBeUndefined();
});
