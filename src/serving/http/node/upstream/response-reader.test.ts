import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { UpstreamError } from "../../upstream.ts";
import { HEAD_BYTES_MAX, HEADERS_MAX } from "./upstream-limits.ts";
import type { RequestFacts } from "./response-head.ts";
import { ResponseReader } from "./response-reader.ts";

const GET: RequestFacts = { isHead: false, isUpgrade: false };

interface Result {
  readonly status: number | undefined;
  readonly headers: readonly string[] | undefined;
  readonly isReusable: boolean | undefined;
  readonly body: string;
  readonly isComplete: boolean;
  readonly rest: string;
}

function read(reads: readonly Buffer[], asked: RequestFacts = GET): Result | "malformed" {
  const reader = new ResponseReader(asked);
  const body: Buffer[] = [];
  try {
    for (const bytes of reads) {
      reader.push(bytes);
      body.push(...reader.takePieces());
    }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    expect(error).toMatchObject({ failure: "malformed", isSent: true });
    return "malformed";
  }
  return {
    status: reader.head?.status,
    headers: reader.head?.headers,
    isReusable: reader.head?.isReusable,
    body: Buffer.concat(body).toString("latin1"),
    isComplete: reader.isComplete,
    rest: reader.rest.toString("latin1"),
  };
}

function readText(text: string, asked: RequestFacts = GET): Result | "malformed" {
  return read([Buffer.from(text, "latin1")], asked);
}

function withHeaders(...headers: readonly string[]): string {
  return `${["HTTP/1.1 200 OK", ...headers].join("\r\n")}\r\n\r\n`;
}

describe("the body of a response", () => {
  test("ends after its content-length, and later bytes are not part of it", () => {
    expect(readText(`${withHeaders("Content-Length: 5")}hello there`)).toMatchObject({
      status: 200,
      body: "hello",
      isComplete: true,
      isReusable: true,
      rest: " there",
    });
    expect(readText(`${withHeaders("Content-Length: 5")}hell`)).toMatchObject({ body: "hell", isComplete: false });
    expect(readText(withHeaders("Content-Length: 5", "content-length: 5"))).toMatchObject({ isComplete: false });
  });

  test("is joined from its chunks, without extensions and trailers", () => {
    const chunked = withHeaders("Transfer-Encoding: chunked");
    expect(readText(`${chunked}5;a=b\r\nhello\r\n00A\r\n0123456789\r\n0\r\nX: 1\r\nY: 2\r\n\r\nnext`)).toMatchObject({
      body: "hello0123456789",
      isComplete: true,
      rest: "next",
    });
    expect(readText(`${chunked}0\r\n\r`)).toMatchObject({ isComplete: false });
    expect(readText(`${chunked}5\r\nhello\r\n0\r\nX: 1\r\n`)).toMatchObject({ isComplete: false });
  });

  test("may end with the connection only if the response is an error", () => {
    const reader = new ResponseReader(GET);
    reader.push(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\nwhat?"));
    expect(reader.isComplete).toBe(false);
    reader.finish();
    expect(reader.isComplete).toBe(true);
    expect(reader.head?.isReusable).toBe(false);
    expect(readText("HTTP/1.1 200 OK\r\n\r\n{}")).toBe("malformed");
  });

  test("is absent after HEAD, 204 and 304, whatever the headers announce, and only HEAD keeps the content-length", () => {
    const headers = { isHead: true, isUpgrade: false };
    expect(readText(withHeaders("Content-Length: 5"), headers)).toMatchObject({
      isComplete: true,
      headers: ["content-length", "5"],
    });
    expect(readText("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")).toMatchObject({
      isComplete: true,
      headers: [],
    });
    expect(readText("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")).toMatchObject({ isComplete: true });
  });

  test("begins after the informational responses, which are skipped up to a limit", () => {
    const early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    expect(readText(`${early}${withHeaders("Content-Length: 0")}`)).toMatchObject({ status: 200, isComplete: true });
    expect(readText("HTTP/1.1 102 Processing\r\n\r\n".repeat(100))).toBe("malformed");
  });

  test("is followed by the bytes of the new protocol after 101, which is malformed unless the request asked for an upgrade", () => {
    const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n\x01\x02";
    expect(readText(switching, { isHead: false, isUpgrade: true })).toMatchObject({
      status: 101,
      headers: ["upgrade", "SPDY/3.1"],
      rest: "\x01\x02",
    });
    expect(readText(switching)).toBe("malformed");
  });
});

describe("the reader", () => {
  test("drops the headers that concern only the connection, including those that `Connection` names", () => {
    const text = withHeaders(
      "Connection: X-Hop , keep-alive",
      "X-Hop: 1",
      "Keep-Alive: timeout=5",
      "Upgrade: h2c",
      "Proxy-Authenticate: x",
      "Trailer: x",
      "Content-Length: 0",
      "X-Kept: \t a b \t",
      "Warning: one",
      "warning: two",
    );
    expect(readText(text)).toMatchObject({ headers: ["x-kept", "a b", "warning", "one", "warning", "two"] });
  });

  test("marks a connection that the server announces to close as not reusable", () => {
    expect(readText(withHeaders("Content-Length: 0", "Connection: Close"))).toMatchObject({ isReusable: false });
    expect(readText("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")).toMatchObject({ isReusable: false });
  });

  test("rejects an ambiguous head as malformed", () => {
    const heads = [
      ["Content-Length: 5", "Transfer-Encoding: chunked"],
      ["Content-Length: 5", "Content-Length: 6"],
      ["Content-Length: 5, 5"],
      ["Content-Length: +5"],
      ["Content-Length: -5"],
      ["Content-Length: 0x5"],
      ["Content-Length: \xa05"],
      ["Content-Length:"],
      ["Content-Length: 99999999999999999999"],
      ["Content-Length : 5"],
      [" Content-Length: 5"],
      ["X: a", " folded", "Content-Length: 0"],
      ["Transfer-Encoding: gzip, chunked"],
      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: identity"],
      ["Transfer-Encoding: \x0bchunked"],
      ["X: a\nContent-Length: 5"],
      ["X: a\rContent-Length: 5"],
      ["X: \0", "Content-Length: 0"],
      ["no colon", "Content-Length: 0"],
      [": no name", "Content-Length: 0"],
    ];
    for (const headers of heads) expect([headers, readText(withHeaders(...headers))]).toEqual([headers, "malformed"]);
    expect(readText("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")).toBe("malformed");
  });

  test("rejects invalid chunks as malformed", () => {
    const bodies = [
      "\r\n",
      "+5\r\nhello\r\n",
      "-1\r\n",
      "0x5\r\nhello\r\n",
      "5 \r\nhello\r\n",
      "5\nhello\r\n",
      "5\r\nhello0\r\n\r\n",
      "5\r\nhello\n0\r\n\r\n",
      "5\r\nhello!\r\n",
      "5;a\nb\r\nhello\r\n",
      "fffffffffffff\r\n",
      `5;${"x".repeat(1_000)}\r\n`,
      `0\r\n${"X: y\r\n".repeat(10_000)}\r\n`,
      "0\r\n\n",
      "0\r\nX: 1\n\r\n",
    ];
    for (const body of bodies) {
      expect([body, readText(withHeaders("Transfer-Encoding: chunked") + body)]).toEqual([body, "malformed"]);
    }
  });

  test("rejects a head that is too large or not HTTP before the head is complete", () => {
    const many = Array.from({ length: HEADERS_MAX + 1 }, (_, index) => `X-${index}: y`);
    expect(readText(withHeaders(...many, "Content-Length: 0"))).toBe("malformed");
    expect(readText(`HTTP/1.1 200 OK\r\nX: ${"y".repeat(HEAD_BYTES_MAX)}`)).toBe("malformed");
    for (const text of ["SSH-2.0-x\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n"]) {
      expect([text, readText(text)]).toEqual([text, "malformed"]);
    }
  });
});

describe("the reader, for generated bytes,", () => {
  const headerLine = fc.oneof(
    fc.constantFrom("X-A: b", "Connection: close", "Keep-Alive: timeout=3", "X:", " fold", "Content-Length: 3", "bad"),
    fc.stringMatching(/^[A-Za-z-]{1,8}: [ -~]{0,12}$/),
  );
  const chunk = fc
    .uint8Array({ minLength: 1, maxLength: 40 })
    .map((bytes) => `${bytes.length.toString(16)}\r\n${Buffer.from(bytes).toString("latin1")}\r\n`);
  const body = fc.string({ unit: "binary-ascii", maxLength: 60 });
  const framed = fc.oneof(
    body.map((text) => ({ header: `Content-Length: ${text.length}`, bytes: text })),
    fc.array(chunk, { maxLength: 5 }).map((chunks) => ({
      header: "Transfer-Encoding: chunked",
      bytes: `${chunks.join("")}0\r\n\r\n`,
    })),
    body.map((text) => ({ header: "Transfer-Encoding: chunked", bytes: text })),
  );
  const response = fc
    .record({
      early: fc.constantFrom("", "", "HTTP/1.1 100 Continue\r\n\r\n"),
      status: fc.constantFrom("200 OK", "204", "404 Not Found"),
      lines: fc.array(headerLine, { maxLength: 4 }),
      framed,
      tail: fc.constantFrom("", "", "HTTP/1.1 200 OK\r\n"),
    })
    .map((parts) =>
      Buffer.from(
        `${parts.early}HTTP/1.1 ${parts.status}\r\n${[...parts.lines, parts.framed.header].join("\r\n")}\r\n\r\n` +
          parts.framed.bytes +
          parts.tail,
        "latin1",
      ),
    );

  test("yields the same response however the bytes are split", () => {
    fc.assert(
      fc.property(response, fc.array(fc.nat(400), { maxLength: 12 }), (bytes, cuts) => {
        expect(read(cutAt(bytes, cuts))).toEqual(read([bytes]));
        expect(read(Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(read([bytes]));
      }),
      { numRuns: 500 },
    );
  });

  test("yields an error or an incomplete response for arbitrary bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const result = read([Buffer.from(bytes)]);
        expect(result === "malformed" || !result.isComplete).toBe(true);
      }),
    );
  });

  test("never yields a complete response for a part of a response", () => {
    fc.assert(
      fc.property(response, fc.nat(400), (bytes, length) => {
        const whole = read([bytes]);
        if (whole === "malformed" || !whole.isComplete) return;
        const wholeLength = bytes.length - whole.rest.length;
        const part = read([bytes.subarray(0, Math.min(length, wholeLength - 1))]);
        expect(part === "malformed" || part.isComplete).toBe(false);
      }),
    );
  });

  function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
    const places = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b);
    return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  }
});
