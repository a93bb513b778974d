/** Serves componentstatuses. Evenkeel does not check components, so the list is always empty. */
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { jsonResponse } from "../http/respond.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { notFound } from "../../meta/status-error.ts";
import { columnDefinitions, type TableColumn } from "../../objects/table/table.ts";
import type { ResourceEndpoint } from "./endpoint.ts";
import type { Representation } from "./render/negotiate.ts";
import { parseIncludeObject } from "./render/table.ts";

/** The columns of the Table, the same in every release. */
const COLUMNS: readonly TableColumn[] = ["Name", "Status", "Message", "Error"].map((name) => ({
  name,
  type: "string",
  format: name === "Name" ? "name" : "",
  priority: 0,
  cell: undefined,
}));

export function componentStatusesEndpoint(
  { group, version, kind }: ResourceEndpoint,
  { info, query }: WithInfo,
  { form, metaVersion }: Representation,
): ApiResponse {
  // As kubernetes: this message names the resource in the singular.
  if (info.verb !== "list") throw notFound({ group, resource: "componentstatus" }, info.name);
  if (form === "table") {
    parseIncludeObject(query.get("includeObject"));
    const table = { columnDefinitions: columnDefinitions(COLUMNS), rows: [] };
    return jsonResponse(200, { kind: "Table", apiVersion: metaVersion, metadata: {}, ...table });
  }
  const head =
    form === "partial"
      ? { kind: "PartialObjectMetadataList", apiVersion: metaVersion }
      : { kind: `${kind}List`, apiVersion: formatGroupVersion({ group, version }) };
  return jsonResponse(200, { ...head, metadata: {}, items: [] });
}
