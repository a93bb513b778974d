import { expect, test } from "vitest";
import { bufferedBody, EMPTY_BODY } from "../../serving/http/request-body.ts";
import { openHopBody, type HopBody } from "./hop-body.ts";

async function textOf(body: HopBody): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of body.open() ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a missing body stays missing, however often it is opened", async () => {
  const body = await openHopBody(EMPTY_BODY, undefined);
  expect([body.isRepeatable, body.length, body.open(), body.open()]).toEqual([true, undefined, undefined, undefined]);
});

test("a small body of known length is buffered and can be sent again", async () => {
  const body = await openHopBody(bufferedBody(Buffer.from("hello")), "5");
  expect([body.isRepeatable, body.length]).toEqual([true, 5]);
  expect([await textOf(body), await textOf(body), body.isRepeatable]).toEqual(["hello", "hello", true]);
});

test.each([
  {
    what: "that is large",
    text: "x".repeat(64 * 1024 + 1),
    contentLength: String(64 * 1024 + 1),
    length: 64 * 1024 + 1,
  },
  { what: "of unknown length", text: "hello", contentLength: undefined, length: undefined },
  { what: "whose length is not a number", text: "hello", contentLength: "5, 5", length: undefined },
])("a body $what is streamed, and is repeatable only until reading begins", async (example) => {
  const body = await openHopBody(bufferedBody(Buffer.from(example.text)), example.contentLength);
  body.open();
  expect([body.isRepeatable, body.length]).toEqual([true, example.length]);
  expect(await textOf(body)).toBe(example.text);
  expect(body.isRepeatable).toBe(false);
});

test("a body of the maximum size that is buffered is repeatable", async () => {
  const body = await openHopBody(bufferedBody(Buffer.alloc(64 * 1024)), String(64 * 1024));
  await textOf(body);
  expect(body.isRepeatable).toBe(true);
});

test("a body longer than its content length is rejected instead of buffered", async () => {
  const long = bufferedBody(Buffer.alloc(64 * 1024 + 1));
  await expect(openHopBody(long, "5")).rejects.toMatchObject({ name: "BodyTooLargeError" });
});
