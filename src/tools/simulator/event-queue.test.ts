import { expect, test } from "vitest";
import { EventQueue } from "./event-queue.ts";
import { createSeededRandom } from "./world.ts";

test("events are taken by time, and events of the same time in the order in which they were added", () => {
  const queue = new EventQueue();
  const random = createSeededRandom(1);
  const expected: { readonly at: number; readonly index: number }[] = [];
  const taken: number[] = [];
  for (let index = 0; index < 500; index++) {
    const at = Math.floor(random.float() * 50);
    const cancel = queue.add(at, () => taken.push(index));
    if (random.float() < 0.6) cancel();
    else expected.push({ at, index });
  }
  for (let event = queue.take(); event !== undefined; event = queue.take()) event.callback?.();
  expect(expected.length).toBeGreaterThan(100);
  expect(taken).toEqual(
    expected.toSorted((left, right) => left.at - right.at || left.index - right.index).map(({ index }) => index),
  );
});

test("an event that is canceled while the queue is read is not taken", () => {
  const queue = new EventQueue();
  const cancels = Array.from({ length: 200 }, (_, at) => queue.add(at, () => {}));
  expect(queue.peek()?.at).toBe(0);
  for (const cancel of cancels.slice(0, 199)) cancel();
  expect(queue.peek()?.at).toBe(199);
  expect(queue.take()?.at).toBe(199);
  expect(queue.peek()).toBeUndefined();
});

test("canceling an event that was taken does not affect other events", () => {
  const queue = new EventQueue();
  const cancel = queue.add(1, () => {});
  queue.add(2, () => {});
  queue.take();
  cancel();
  cancel();
  expect(queue.take()?.at).toBe(2);
  expect(queue.take()).toBeUndefined();
});
