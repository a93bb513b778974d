/** Bugs that mislead controllers, put into an otherwise sound cluster. */
import { errorResponse, jsonResponse } from "../../src/serving/http/respond.ts";
import type { ApiRequest } from "../../src/serving/http/message.ts";
import { notFound } from "../../src/meta/status-error.ts";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import { StorageError, type CommitResult, type RangeResult } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const OBJECT = /^\/apis\/([^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)\/(relative-[0-9]+)$/;
const LIST = /^\/apis\/[^/]+\/[^/]+\/namespaces\/space-[0-9]+\/[^/]+$/;
/** Where something of a namespace may lie that clients have made. */
const PLACE = /^\/registry\/.+\/space-[0-9]+\/$/;

/** What only another server serves is said to be absent to a controller, as if somebody had looked for it. */
export function takesUnknownForAbsent(): Plant {
  return {
    wrapHandle: (handle) => async (request) => {
      const [, group = "", resource = "", name = ""] = OBJECT.exec(request.path) ?? [];
      if (name === "" || !isReadOfController(request)) return handle(request);
      return errorResponse(notFound({ group, resource }, name));
    },
  };
}

/** What only another server serves is not deleted with a namespace, and who lets it go does not look into the store. */
export function overlooksContent(): Plant {
  return {
    wrapHandle: (handle) => async (request) => {
      if (!LIST.test(request.path) || !isReadOfController(request)) return handle(request);
      return jsonResponse(200, { metadata: { resourceVersion: "1" }, items: [] });
    },
    wrapKv: (kv) =>
      overlaidKv(kv, {
        async range(request): Promise<RangeResult> {
          const result = await kv.range(request);
          return request.countOnly === true && PLACE.test(request.start) ? { ...result, count: 0 } : result;
        },
      }),
  };
}

/** No object can be removed whose key begins like this. */
export function removesNothing(prefix: string): Plant {
  return {
    wrapKv: (kv) =>
      overlaidKv(kv, {
        async commit(change): Promise<CommitResult> {
          if (change.kind === "delete" && change.key.startsWith(prefix))
            throw new StorageError("unavailable", "not this one");
          return kv.commit(change);
        },
      }),
  };
}

/** Both controllers ask for metadata only, and no client does. */
function isReadOfController({ method, headers }: ApiRequest): boolean {
  return method === "GET" && headers["accept"]?.includes("PartialObjectMetadata") === true;
}
