import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { requestReport, type ReportProgress } from "./request-report.ts";

interface Stub extends AsyncDisposable {
  readonly url: string;
}

async function stub(answer: (response: ServerResponse) => void): Promise<Stub> {
  const server = createServer((_request, response) => answer(response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const ignore = (): void => {};

describe("a report", () => {
  test("is the last line of the response; all earlier lines are progress, even if chunks split them", async () => {
    await using server = await stub((response) => {
      response.write('{"kind":"progress","done":1,"total":4}\n{"kind":"prog');
      setImmediate(() =>
        response.end('ress","done":2,"total":4}\n{"kind":"later"}\n{"kind":"result","report":{"a":1}}\n'),
      );
    });
    const reported: ReportProgress[] = [];
    expect(await requestReport(server, "/x", (progress) => void reported.push(progress))).toEqual({ a: 1 });
    expect(reported).toEqual([
      { done: 1, total: 4 },
      { done: 2, total: 4 },
    ]);
  });

  test.each<[what: string, answer: (response: ServerResponse) => void, says: RegExp]>([
    [
      "fails before its end",
      (response) => response.end('{"kind":"error","message":"no store"}\n'),
      /could not complete the report: no store$/,
    ],
    ["ends without a result", (response) => response.end('{"kind":"progress"}\n'), /ended before the report$/],
    [
      "is truncated",
      (response) => (response.write('{"kind":"pro'), setImmediate(() => response.destroy())),
      /cannot be reached/,
    ],
    ["is not JSON", (response) => response.end("nonsense\n"), /not JSON$/],
    ["is not an object", (response) => response.end("[]\n"), /not an object$/],
    ["is rejected", (response) => response.writeHead(429).end('{"message":"busy"}'), /responded with 429: busy$/],
    ["the server does not serve", (response) => response.writeHead(404).end("404"), /is not an Evenkeel server/],
  ])("that %s fails with one sentence", async (_, answer, says) => {
    await using server = await stub(answer);
    const asked = requestReport(server, "/x", ignore);
    await expect(asked).rejects.toMatchObject({ name: "CommandFailure", message: expect.stringMatching(says) });
  });
});
