import { expect, test } from "vitest";
import { World } from "../tools/simulator/world.ts";
import { Attempts } from "./attempts.ts";

const POST = { method: "POST", isWatch: false, isBodyReplayable: true };
const REFUSED = { failure: "refused" } as const;
const BUSY = { status: 503, retryAfter: "2" };
const GIVE_UP = { retry: false };

test("refused connections do not count toward retriesMax", () => {
  const { clock } = new World({ seed: 1 });
  const attempts = new Attempts({ clock, retriesMax: 1, waitForServerMs: 1_000 }, POST);
  for (let count = 0; count < 20; count++) expect(attempts.decide(REFUSED)).toEqual({ retry: true, waitMs: 500 });
  expect(attempts.decide(BUSY)).toEqual({ retry: true, waitMs: 2_000 });
  expect(attempts.decide(BUSY)).toEqual(GIVE_UP);
});

test("a request is retried for waitForServerMs while connections are refused, and a response restarts this time", async () => {
  const world = new World({ seed: 1 });
  const attempts = new Attempts({ clock: world.clock, waitForServerMs: 700 }, POST);
  expect(attempts.decide(REFUSED)).toEqual({ retry: true, waitMs: 500 });
  await world.advance(500);
  expect(attempts.decide(REFUSED)).toEqual({ retry: true, waitMs: 200 });
  await world.advance(200);
  expect(attempts.decide(REFUSED)).toEqual(GIVE_UP);
  attempts.decide(BUSY);
  expect(attempts.decide(REFUSED)).toEqual({ retry: true, waitMs: 500 });
});

test("without waitForServerMs, a request is not retried after a refused connection", () => {
  const { clock } = new World({ seed: 1 });
  expect(new Attempts({ clock }, POST).decide(REFUSED)).toEqual(GIVE_UP);
});
