/** Serves the subresource scale, which reads and writes the replicas of an object. */
import { applyScale } from "../../registry/apply-scale.ts";
import { Forwarded } from "../../registry/forwarded-request.ts";
import { get } from "../../registry/read.ts";
import { objectIn } from "../../registry/representation.ts";
import { customTableRenderer, SCALE_COLUMNS } from "../../../objects/table/custom.ts";
import { existingScale, updateScale } from "../../registry/subresources/scale.ts";
import { warningHeaders } from "../decode-body.ts";
import type { EndpointCall, EndpointResponse } from "../endpoint.ts";
import { freshnessOf } from "../get.ts";
import type { Representation } from "../render/negotiate.ts";
import { chunksResponse, rendererFor } from "../render/respond.ts";
import { scaleKind } from "./kinds.ts";
import { updateAdmission } from "../update.ts";
import { readRequestedWrite } from "../write-options.ts";

const CUSTOM_TABLE = customTableRenderer(SCALE_COLUMNS);

export async function scaleEndpoint(call: EndpointCall, representation: Representation): Promise<EndpointResponse> {
  const { context, served, request } = call;
  const { namespace, name } = request.info;
  const kind = { ...scaleKind(served), ...(served.custom && { table: CUSTOM_TABLE }) };
  const renderer = rendererFor(representation, kind, { request, clock: context.clock });
  if (request.info.verb === "get") {
    const entry = await get(context, served, {
      namespace,
      name,
      freshness: freshnessOf(request.query.get("resourceVersion") ?? ""),
    });
    return chunksResponse(200, renderer.object(existingScale(served, objectIn(entry, served))));
  }
  const requested = await readRequestedWrite(call, kind);
  const place = { namespace, name, admission: updateAdmission(call, kind, requested) };
  const scale =
    "applied" in requested
      ? await applyScale(context, served, { ...requested, ...place })
      : await updateScale(context, served, { ...requested, ...place });
  if (scale instanceof Forwarded) return scale;
  return chunksResponse(200, renderer.object(scale), warningHeaders(requested.warnings()));
}
