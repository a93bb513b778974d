/**
 * Renders Tables, as `kubectl get` prints them. The cells of a built-in kind are computed from the object in its stored
 * version, those of a custom resource from the object in the served version.
 */
import type { Clock } from "../../../base/clock.ts";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest } from "../../../meta/status-error.ts";
import { columnsObject, columnsShape, objectIn } from "../../registry/representation.ts";
import type { ServedResource } from "../../registry/resource.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import { listMetadata, type Renderer } from "./renderer.ts";
import { jsonRendered, JSON_FORMAT, type Rendered } from "./wire-format.ts";

type IncludeObject = "None" | "Metadata" | "Object";

interface TableOptions {
  readonly metaVersion: string;
  readonly include: IncludeObject;
  readonly showsColumns: boolean;
  readonly clock: Clock;
}

export function parseIncludeObject(text: string | undefined): IncludeObject {
  if (text === undefined || text === "") return "Metadata";
  if (text === "None" || text === "Metadata" || text === "Object") return text;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(text)}`);
}

export function tableResponseRenderer(served: ServedResource, options: TableOptions): Renderer {
  const { metaVersion, showsColumns, include } = options;
  const head = `{"kind":"Table","apiVersion":${JSON.stringify(metaVersion)},"metadata":`;
  const columns = `,"columnDefinitions":${showsColumns ? JSON.stringify(served.table.columns) : "null"},"rows":`;
  const table = (metadata: string, rows: readonly string[]): Rendered =>
    jsonRendered([Buffer.from(`${head}${metadata}${columns}[${rows.join(",")}]}`)]);
  return {
    key: `table ${metaVersion} ${include} ${showsColumns ? "columns " : ""}${served.apiVersion}`,
    format: JSON_FORMAT,
    entry: (entry) => table(`{"resourceVersion":"${entry.modRevision}"}`, [entryRow(entry, served, options)]),
    object(object) {
      const version = objectAt(object, "metadata")["resourceVersion"];
      return table(JSON.stringify(version === undefined ? {} : { resourceVersion: version }), [
        objectRow(object, served, options),
      ]);
    },
    list: (listed) =>
      table(
        JSON.stringify(listMetadata(listed)),
        listed.entries.map((entry) => entryRow(entry, served, options)),
      ),
    // A bookmark has a row like any other event, because clients read objects from rows. The metadata of the Table has
    // the same resourceVersion.
    bookmark: (metadata) => table(metadata, [bookmarkRow(metadata, served, options)]).chunks,
    // Columns are sent only with the first event of a watch.
    ...(showsColumns ? { following: tableResponseRenderer(served, { ...options, showsColumns: false }) } : {}),
  };
}

function entryRow(entry: Entry, served: ServedResource, options: TableOptions): string {
  return row(columnsObject(entry, served), { served, options, shown: () => objectIn(entry, served) });
}

function objectRow(object: JsonObject, served: ServedResource, options: TableOptions): string {
  return row(columnsShape(object, served), { served, options, shown: () => object });
}

function bookmarkRow(metadata: string, served: ServedResource, options: TableOptions): string {
  const object: JsonObject = { kind: served.kind, apiVersion: served.apiVersion, metadata: JSON.parse(metadata) };
  return row(object, { served, options, shown: () => object });
}

function row(
  stored: JsonObject,
  what: { served: ServedResource; options: TableOptions; shown: () => JsonObject },
): string {
  const { served, options } = what;
  const cells = served.table.cells(stored, options.clock.now());
  const conditions = served.table.conditions?.(stored) ?? [];
  return JSON.stringify({ cells, ...(conditions.length === 0 ? {} : { conditions }), object: rowObject(what) });
}

function rowObject({ options, shown }: { options: TableOptions; shown: () => JsonObject }): JsonObject | null {
  if (options.include === "None") return null;
  const object = shown();
  if (options.include === "Object") return object;
  return { kind: "PartialObjectMetadata", apiVersion: options.metaVersion, metadata: object["metadata"] };
}
