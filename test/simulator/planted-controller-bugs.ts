/**
 * Bugs that tests plant into an otherwise correct cluster to mislead its controllers, to show that the checkers report
 * them.
 */
import { errorResponse, jsonResponse } from "../../src/serving/http/respond.ts";
import type { ApiRequest } from "../../src/serving/http/message.ts";
import { notFound } from "../../src/meta/status-error.ts";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import { StorageError, type CommitResult, type RangeResult } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const OBJECT = /^\/apis\/([^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)\/(relative-[0-9]+)$/;
const LIST = /^\/apis\/[^/]+\/[^/]+\/namespaces\/space-[0-9]+\/[^/]+$/;
/** Key prefixes of the objects in namespaces of clients. */
const PLACE = /^\/registry\/.+\/space-[0-9]+\/$/;

/**
 * Servers return "not found" to controllers for an existing object, as a server would that treats an unknown resource
 * as absent.
 */
export function treatsUnknownAsAbsent(): Plant {
  return {
    wrapHandle: (handle) => async (request) => {
      const [, group = "", resource = "", name = ""] = OBJECT.exec(request.path) ?? [];
      if (name === "" || !isReadOfController(request)) return handle(request);
      return errorResponse(notFound({ group, resource }, name));
    },
  };
}

/** Servers hide the content of a namespace from the namespace controller and from the check before finalization. */
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

/** The store rejects deletions of keys with this prefix. */
export function removesNothing(prefix: string): Plant {
  return {
    wrapKv: (kv) =>
      overlaidKv(kv, {
        async commit(change): Promise<CommitResult> {
          if (change.kind === "delete" && change.key.startsWith(prefix))
            throw new StorageError("unavailable", "deletion rejected by the planted bug");
          return kv.commit(change);
        },
      }),
  };
}

/** The namespace controller and the garbage collector request only metadata; clients do not. */
function isReadOfController({ method, headers }: ApiRequest): boolean {
  return method === "GET" && headers["accept"]?.includes("PartialObjectMetadata") === true;
}
