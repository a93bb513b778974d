/** Tests which server serves a client that sends its release, for every row of the table in docs/versions.md. */
import { expect, test } from "vitest";
import type { ApiResponse } from "../../src/serving/http/message.ts";
import { errorResponse, textResponse } from "../../src/serving/http/respond.ts";
import { StatusError } from "../../src/meta/status-error.ts";
import { peerProxy } from "../../src/cluster/peers/peer-proxy.ts";
import { userRequest } from "../testing/cluster/peers/fake-upstream.ts";
import { versionRows, type VersionRow } from "./version-table.ts";

const ROWS = versionRows();

async function servedBy({ header, isProxied, view }: VersionRow, isVersionAware: boolean): Promise<string> {
  const route = peerProxy({
    view: () => view,
    unmetNeed: () => undefined,
    isVersionAware,
    forward: (_request, { candidates, fallback }) => {
      const tiers = candidates.map((tier) => tier.map(({ id }) => id).join(" or "));
      return Promise.resolve(textResponse(200, [...tiers, ...(fallback === undefined ? [] : ["a"])].join(", else ")));
    },
  });
  const headers = header === undefined ? {} : { "x-kubernetes-compatibility-version": header };
  const request = userRequest({ url: "/apis/example.com/v1/widgets", headers }, { isProxied });
  const here = (): Promise<ApiResponse> => Promise.resolve(textResponse(200, "a"));
  const unknown = (message: string): StatusError => new StatusError("NotFound", message);
  const response = await route(request, { here, unknown }).catch((thrown: unknown) =>
    errorResponse(StatusError.from(thrown)),
  );
  const by =
    response.status === 200 && response.body.kind === "bytes" ? String(response.body.chunks[0]) : response.status;
  return `${by}${response.headers["warning"] === undefined ? "" : " with a Warning"}`;
}

test("the table in docs/versions.md has more than 25 rows", () => {
  expect(ROWS.length).toBeGreaterThan(25);
});

test.each(ROWS)("$what", async (row) => {
  expect(await servedBy(row, true)).toBe(row.servedBy);
});

test("with the feature gate off, the header has no effect, whatever its value", async () => {
  for (const row of ROWS)
    expect(await servedBy(row, false), row.what).toBe(await servedBy({ ...row, header: undefined }, true));
});
